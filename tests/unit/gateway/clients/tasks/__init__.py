"""Tests of gateway/clients/tasks."""
