"""Tests of adapters/slack/codec."""
