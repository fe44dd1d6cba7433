"""The state of a session, folded from its facts."""
