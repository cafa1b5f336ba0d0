"""The offline summarizer."""
