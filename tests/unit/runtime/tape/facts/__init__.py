"""Tests of the kinds of facts."""
