"""From Markdown to the syntax tree of a program."""
