"""Tests of runtime/execution/free."""
