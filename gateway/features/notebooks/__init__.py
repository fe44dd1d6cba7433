"""The tape service for clients: notebooks of their own, and the tapes of sessions, over HTTP."""
