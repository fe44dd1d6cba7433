"""Tests of runtime/sessions/inbound."""
