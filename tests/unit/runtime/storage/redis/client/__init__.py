"""Tests of runtime/storage/redis/client."""
