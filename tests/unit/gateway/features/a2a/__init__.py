"""Tests of gateway/features/a2a."""
