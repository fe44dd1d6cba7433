"""The append-only log of an agent, and the journal that is kept on it."""
