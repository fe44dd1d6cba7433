"""Tests of runtime/execution/triggers."""
