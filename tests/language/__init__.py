"""Cases of the language."""
