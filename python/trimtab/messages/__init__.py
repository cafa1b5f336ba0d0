"""Messages, their provider shapes, and usage."""
