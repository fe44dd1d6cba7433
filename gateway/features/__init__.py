"""Capabilities of Parley: a folder each."""
