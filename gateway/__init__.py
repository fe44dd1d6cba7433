"""The program that people start: commands, settings, wiring, the web."""
