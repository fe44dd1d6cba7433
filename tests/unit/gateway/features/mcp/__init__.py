"""Tests of gateway/clients/mcp."""
