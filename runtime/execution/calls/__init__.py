"""The built-in calls of programs."""
