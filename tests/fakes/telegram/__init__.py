"""A Telegram server, as the real client library sees it."""
