"""Stores in memory, which behave as those on Redis do. The contract tests ask the same of both."""
