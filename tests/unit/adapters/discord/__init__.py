"""Discord, without any I/O."""
