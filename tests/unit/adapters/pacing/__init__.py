"""Tests of adapters/pacing."""
