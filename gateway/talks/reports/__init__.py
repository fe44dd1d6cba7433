"""Results of talks, for people and for CI."""
