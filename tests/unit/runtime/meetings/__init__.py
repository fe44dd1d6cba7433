"""Tests of meetings."""
