"""Our addresses, texts and messages in Discord's terms. Pure: no I/O."""
