"""Tests of gateway/clients/a2a."""
