"""Tests of gateway/assembly."""
