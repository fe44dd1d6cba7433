"""What people start: commands, settings, wiring, the web."""
