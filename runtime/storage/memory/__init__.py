"""The stores in memory, for tests and for trying things out."""
