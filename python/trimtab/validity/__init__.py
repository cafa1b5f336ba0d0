"""Provider rules: judge a transcript, and repair it."""
