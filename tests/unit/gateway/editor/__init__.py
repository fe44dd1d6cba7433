"""Tests of gateway/editor."""
