"""Tests of gateway/inbound."""
