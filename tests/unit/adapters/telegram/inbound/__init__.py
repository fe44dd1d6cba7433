"""Tests of adapters/telegram/inbound."""
