"""Links `[@Name](person:slack:<workspace>:<person>)` as Slack's mentions. Pure."""

from __future__ import annotations

import re

EDGE = "\u200b"
"""A space without width: it keeps two characters from meaning something together."""
MENTION_LINK = re.compile(r"\[@([^\]\n]*)\]\((person:[^)\s]*)\)")
"""The name and the target of a link that mentions somebody."""

_PERSON = re.compile(r"person:slack:([TE][A-Z0-9]+):([UW][A-Z0-9]+)")


def person_of(target: str) -> str | None:
    """The mention that a link's target means; None for another link."""
    found = _PERSON.fullmatch(target)
    return None if found is None else f"<@{found[2]}>"


def mention_of(target: str, team: str) -> str | None:
    """The mention, for people of one workspace only."""
    found = _PERSON.fullmatch(target)
    return None if found is None or found[1] != team else f"<@{found[2]}>"
