"""Channels: the conduits among participants, their outbox and their mailboxes."""
