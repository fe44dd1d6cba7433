"""The stores' own parts."""
