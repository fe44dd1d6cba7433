"""Tests of gateway/clients."""
