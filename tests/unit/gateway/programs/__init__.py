"""Tests of gateway/programs."""
