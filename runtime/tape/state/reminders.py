"""Pending reminders of agents."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.core.ids import AgentId


@dataclass(slots=True)
class ReminderState:
    """An agent's reminder: its text and its time, in seconds since the epoch."""

    agent: AgentId
    due: float
    text: str
    trigger: str | None = None
    """The code of the trigger whose time it is."""
