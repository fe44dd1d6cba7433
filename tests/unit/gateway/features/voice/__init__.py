"""Voice notes, and answers that are spoken."""
