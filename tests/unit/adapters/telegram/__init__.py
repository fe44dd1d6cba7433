"""Tests of the Telegram adapter's pure parts."""
