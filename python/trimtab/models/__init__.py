"""Values: models, their limits, prices and prompt formats."""
