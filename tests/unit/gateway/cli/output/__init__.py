"""Tests of gateway/cli/output."""
