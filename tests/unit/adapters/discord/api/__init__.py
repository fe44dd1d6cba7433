"""Tests of adapters/discord/api."""
