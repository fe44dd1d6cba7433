"""Our addresses, texts and files in Telegram's terms. Pure: no I/O."""
