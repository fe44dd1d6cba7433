"""Tests of runtime/language/lowering/checks."""
