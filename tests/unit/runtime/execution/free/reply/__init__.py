"""Tests of runtime/execution/free/reply."""
