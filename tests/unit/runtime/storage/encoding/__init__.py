"""Tests of runtime/storage/encoding."""
