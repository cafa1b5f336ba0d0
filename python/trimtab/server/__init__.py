"""What a provider's server can do of a compaction: the parameters that ask for it, and what its answers say of it."""
