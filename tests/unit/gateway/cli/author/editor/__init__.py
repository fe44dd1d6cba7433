"""Tests of gateway/cli/editor."""
