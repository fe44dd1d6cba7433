"""Commands for those who write programs."""
