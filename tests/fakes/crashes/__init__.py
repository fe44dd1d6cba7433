"""A world that is stopped at every commit."""
