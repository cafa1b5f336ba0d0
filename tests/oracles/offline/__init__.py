"""The offline summarizer in Python: the slow version of `rust/core/src/offline`, and what it means."""
