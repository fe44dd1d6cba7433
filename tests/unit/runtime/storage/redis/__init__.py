"""Tests of the Redis stores that need no server."""
