"""Tests of gateway/talks."""
