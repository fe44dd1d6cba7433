"""What came of talks, for people and for CI."""
