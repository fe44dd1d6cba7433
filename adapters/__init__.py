"""Chat platforms, and how text becomes live on them."""
