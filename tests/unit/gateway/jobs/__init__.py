"""Tests of gateway/jobs."""
