"""Models: limits, prices and prompt formats."""
