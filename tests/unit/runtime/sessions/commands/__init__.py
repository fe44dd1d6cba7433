"""Tests of runtime/sessions/commands."""
