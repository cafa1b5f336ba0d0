"""The transcript as numeric columns."""
