"""Tests of runtime/execution/prompt."""
