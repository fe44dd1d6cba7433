"""Tests of the processor that walks a program."""
