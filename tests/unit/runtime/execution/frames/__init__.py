"""Tests of runtime/execution/frames."""
