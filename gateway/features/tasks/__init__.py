"""Tasks: sessions that somebody ordered, and that end with one result."""
