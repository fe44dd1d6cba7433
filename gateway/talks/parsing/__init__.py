"""A talk, read from its Markdown."""
