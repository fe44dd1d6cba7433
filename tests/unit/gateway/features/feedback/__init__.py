"""Tests of ratings and their sums."""
