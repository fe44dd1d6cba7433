"""Tests of adapters/telegram/codec."""
