"""Tests of adapters/web."""
