"""The Valkey server that comes with Parley."""
