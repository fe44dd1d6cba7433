"""Agents that run in another process, and the names of their participants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from runtime.language.program import AgentKind, AgentSpec, Program

PARTICIPANT_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""The form of a participant's name in programs and settings."""


def named_participant(klass: str, metadata: Mapping[str, Any]) -> str:
    """The participant's name of such an agent: `participant:`, else its class in lower case."""
    return str(metadata.get("participant") or klass.lower())


def participant_of(agent: AgentSpec) -> str | None:
    """The participant's name of an agent; None for one that runs here."""
    return named_participant(agent.name, agent.metadata) if agent.kind is AgentKind.REMOTE else None


def participants(program: Program) -> dict[str, str]:
    """The names of the participants in other processes, by agent class."""
    found = ((agent.name, participant_of(agent)) for agent in program.agents)
    return {klass: name for klass, name in found if name is not None}
