"""Tests of gateway/standby."""
