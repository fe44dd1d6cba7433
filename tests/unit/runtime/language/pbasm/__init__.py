"""Tests of runtime/language/pbasm."""
