"""Markdown to syntax tree to PBAsm."""
