"""Several nodes of one service."""
