"""Usage: what models are asked, and what they cost."""
