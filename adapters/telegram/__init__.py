"""Telegram, over python-telegram-bot."""
