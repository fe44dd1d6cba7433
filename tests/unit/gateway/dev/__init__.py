"""Tests of gateway/dev."""
