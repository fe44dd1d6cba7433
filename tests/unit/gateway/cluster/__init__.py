"""Tests of gateway/cluster."""
