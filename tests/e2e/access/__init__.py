"""Who gets in, what stays secret, and bad input."""
