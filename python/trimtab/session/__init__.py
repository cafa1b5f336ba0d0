"""The front: Compactor, and one conversation between calls."""
