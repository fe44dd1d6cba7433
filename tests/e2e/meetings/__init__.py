"""Several people and agents together."""
