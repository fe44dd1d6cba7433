"""Events that programs publish, and on which others begin."""
