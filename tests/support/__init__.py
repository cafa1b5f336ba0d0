"""What several test files use: generated transcripts, servers on this machine, and the judge of a list of messages."""
