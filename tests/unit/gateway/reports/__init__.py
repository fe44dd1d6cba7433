"""Tests of gateway/reports."""
