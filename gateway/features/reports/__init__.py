"""Reports about failures that nobody catches: what failed, where, why perhaps, and how to try again."""
