"""Stores: durable commits, tapes and notebooks."""
