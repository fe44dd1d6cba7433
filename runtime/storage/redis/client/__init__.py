"""Connections to Redis servers: found, checked, and asked within time limits."""
