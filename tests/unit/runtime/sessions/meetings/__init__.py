"""Tests of runtime/sessions/meetings."""
