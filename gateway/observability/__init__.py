"""Subscribers of the bus. Only the composition root imports them."""
