"""Shared test support: generated transcripts, local servers, and a checker of message lists."""
