"""Tests of gateway/cli/operate/sessions."""
