"""Fetch, decode, verify, execute on a language model."""
