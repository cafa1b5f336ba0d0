"""Provider rules: validate a transcript, and repair it."""
