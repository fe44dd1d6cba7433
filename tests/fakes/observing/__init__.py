"""What was seen: spans, events, calls."""
