"""Charters of rooms in the browser chat: who each room is for."""
