"""Tests of gateway/web."""
