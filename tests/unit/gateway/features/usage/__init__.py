"""Tests of the count of use."""
