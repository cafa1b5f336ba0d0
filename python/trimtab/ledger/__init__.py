"""The transcript as columns of numbers."""
