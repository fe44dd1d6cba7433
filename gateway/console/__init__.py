"""The console at /console: its log-in, its page, and what who is logged in may ask of the bus and the tapes."""
