"""Tests of isolated tasks."""
