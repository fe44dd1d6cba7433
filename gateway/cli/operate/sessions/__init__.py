"""Commands about stored conversations: `parley sessions`."""
