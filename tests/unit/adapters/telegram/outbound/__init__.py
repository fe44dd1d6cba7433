"""Tests of adapters/telegram/outbound."""
