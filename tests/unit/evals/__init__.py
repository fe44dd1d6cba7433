"""Tests of the evals themselves: the checks fail where they should."""
