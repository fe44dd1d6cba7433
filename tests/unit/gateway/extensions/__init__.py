"""Tests of gateway.extensions."""
