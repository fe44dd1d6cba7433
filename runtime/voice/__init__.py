"""Voices: recordings put into words, and texts spoken."""
