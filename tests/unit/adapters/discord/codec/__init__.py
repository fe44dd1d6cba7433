"""Tests of adapters/discord/codec."""
