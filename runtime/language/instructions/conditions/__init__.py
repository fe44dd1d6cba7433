"""Conditions and values in English and in symbols: read by a grammar that gives every meaning a text can have."""
