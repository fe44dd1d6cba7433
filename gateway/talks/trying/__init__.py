"""Programs that are tried with the answers of their talks."""
