"""Tests of runtime/remote/a2a."""
