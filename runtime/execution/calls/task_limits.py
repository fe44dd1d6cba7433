"""The limits of tasks, which the settings need without the calls: every command reads the settings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """The limits of tasks: how deep tasks may order tasks, how many of one orderer are at work at once, how long each
    may take, and how many tokens and US dollars a task and all that it starts may use, 0 for any number."""

    depth: int = 3
    at_once: int = 8
    within_s: float = 600.0
    tokens: int = 0
    dollars: float = 0.0
