"""The stores on Redis (7.0 or newer) or Valkey (7.2 or newer)."""
