"""Stores over Redis or Valkey."""
