"""All kinds of facts by their names on the tapes, and reading what a stored fact says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.tape.facts import (  # noqa: F401 - their kinds
    agents,
    calls,
    frames,
    meetings,
    pages,
    people,
    session,
    tasks,
)
from runtime.tape.facts.content import KINDS as KINDS
from runtime.tape.facts.content import Content, Kind
from runtime.tape.tape import Fact


def content_of(kind: str, data: Mapping[str, Any]) -> Content:
    """The content of a stored fact of this kind. Raises LookupError for an unknown kind, or where a key is missing."""
    return KINDS[kind].read(data)


def read_as(fact_: Fact, wanted: type[Kind]) -> Kind | None:
    """The content of a stored fact, if it is of this kind."""
    return wanted.read(fact_.data) if fact_.kind == wanted.kind else None
