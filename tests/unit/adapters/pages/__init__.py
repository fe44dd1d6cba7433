"""Tests of adapters/pages."""
