"""Telegram's updates: fetched or received, and decoded."""
