"""Output of the commands: programs and diagnostics explained, and the terminal itself."""
