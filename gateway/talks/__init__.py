"""Talks: what people say to a program and what has to come of it, read from Markdown, held and compared."""
