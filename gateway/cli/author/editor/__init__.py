"""Programs in an editor: what a language server knows of a text."""
