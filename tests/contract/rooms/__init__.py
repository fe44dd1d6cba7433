"""Rooms of the web chat: their store, their people, and what nodes tell each other."""
