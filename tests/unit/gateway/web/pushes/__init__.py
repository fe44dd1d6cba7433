"""Tests of Web Push."""
