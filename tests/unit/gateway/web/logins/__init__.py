"""Tests of the ways to log in."""
