"""Tests of runtime/tape/rules."""
