"""Sending to Telegram's chats."""
