"""The Telegram adapter and a Bot API server on loopback, checked against each other."""
