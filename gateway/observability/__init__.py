"""Subscribers of the bus; nothing imports them but the composition root."""
