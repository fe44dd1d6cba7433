"""The browser chat: Parley's own platform."""
