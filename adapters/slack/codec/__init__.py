"""Our addresses, texts and events in Slack's terms, and back. Pure: no I/O."""
