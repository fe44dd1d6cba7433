"""Pages of ours in Telegram's chats."""
