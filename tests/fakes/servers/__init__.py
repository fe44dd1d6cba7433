"""Valkey, PostgreSQL and the wire to them."""
