"""Links `[@Name](person:slack:<workspace>:<person>)` as Slack's mentions. Pure."""

from __future__ import annotations

import re

EDGE = "\u200b"
"""A zero-width space, which keeps two characters from being read together."""
MENTION_LINK = re.compile(r"\[@([^\]\n]*)\]\((person:[^)\s]*)\)")
"""The name and the target of a link that mentions a person."""

_PERSON = re.compile(r"person:slack:([TE][A-Z0-9]+):([UW][A-Z0-9]+)")


def person_of(target: str) -> str | None:
    """The mention for a link's target; None for another link."""
    found = _PERSON.fullmatch(target)
    return None if found is None else f"<@{found[2]}>"


def mention_of(target: str, team: str) -> str | None:
    """The mention, but only for people of one workspace."""
    found = _PERSON.fullmatch(target)
    return None if found is None or found[1] != team else f"<@{found[2]}>"
