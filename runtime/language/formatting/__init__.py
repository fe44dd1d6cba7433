"""The one way in which the Markdown of a program is laid out."""
