"""Tests of events that programs publish."""
