"""Tests of what all stores share."""
