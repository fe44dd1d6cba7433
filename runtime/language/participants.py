"""Agents that are played in another process: under which name it connects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from runtime.language.program import AgentKind, AgentSpec, Program

PARTICIPANT_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
"""How the name of a participant in another process is written, in programs and settings."""


def named_participant(klass: str, metadata: Mapping[str, Any]) -> str:
    """The name under which such an agent's player connects: `participant:`, else its class in small letters."""
    return str(metadata.get("participant") or klass.lower())


def participant_of(agent: AgentSpec) -> str | None:
    """The name under which the agent's player connects; None for one that is executed here."""
    return named_participant(agent.name, agent.metadata) if agent.kind is AgentKind.REMOTE else None


def participants(program: Program) -> dict[str, str]:
    """The names of the participants in other processes, by agent class."""
    found = ((agent.name, participant_of(agent)) for agent in program.agents)
    return {klass: name for klass, name in found if name is not None}
