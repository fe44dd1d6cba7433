"""The chat page in a browser, before a whole gateway."""
