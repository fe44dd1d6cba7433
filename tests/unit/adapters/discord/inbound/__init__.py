"""Tests of adapters/discord/inbound."""
