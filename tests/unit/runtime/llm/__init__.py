"""Tests of choosing and asking a model."""
