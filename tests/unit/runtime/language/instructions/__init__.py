"""Tests of instructions: what a line of a program means."""
