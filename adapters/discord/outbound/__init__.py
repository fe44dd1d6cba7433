"""Agents' messages, threads and reactions on Discord."""
