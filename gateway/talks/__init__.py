"""Talks: what people say to a program and what must follow, read from Markdown, held and compared."""
