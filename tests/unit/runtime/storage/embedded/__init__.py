"""Tests of runtime/storage/embedded."""
