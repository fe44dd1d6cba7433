"""The system itself, with no platform in it."""
