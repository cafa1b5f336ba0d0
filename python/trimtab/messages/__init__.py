"""Values: messages, their provider shapes, and usage."""
