"""What the SQL archives share."""
