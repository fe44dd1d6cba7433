"""Tests of gateway/outbound."""
