"""Tests of questions to a model."""
