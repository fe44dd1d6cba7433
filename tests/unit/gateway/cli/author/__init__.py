"""Tests of gateway/cli/author."""
