"""Tests of gateway/features/mcp."""
