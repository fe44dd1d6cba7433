"""Tests of one module, mirroring the tree."""
