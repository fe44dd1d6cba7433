"""Tests of gateway/cli/operate."""
