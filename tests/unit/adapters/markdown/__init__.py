"""Tests of adapters/markdown."""
