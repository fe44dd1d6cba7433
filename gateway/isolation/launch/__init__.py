"""The ways to start the process of an isolated task."""
