"""Voice notes that people send, and answers that are spoken."""
