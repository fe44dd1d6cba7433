"""Tests of gateway/clients/model."""
