"""Names that people in the web chat may not take: those of agents and of Parley, and similar ones."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from runtime.language.program import AgentKind, Program

OURS = ("Parley",)

_LOOK_LIKE = str.maketrans(
    {
        # Cyrillic and Greek letters that look like Latin ones, and signs that pass for letters, in small letters
        **dict(zip("авекмнорстухіјѕԁԛԝһѵгё", "abekmhopctyxijsdqwhvre", strict=True)),
        **dict(zip("αβεζηικνορτυχω", "abezhiknoptyxw", strict=True)),
        **dict(zip("013457$@|", "oleasts" + "al", strict=True)),
        **dict(zip("ıłøđħƅɡɩ", "ilodhbgi", strict=True)),
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
    }
)


def likeness(name: str) -> str:
    """The form that names share if people confuse them: letters without case, accents and signs."""
    letters = unicodedata.normalize("NFKD", name).casefold().translate(_LOOK_LIKE)
    plain = "".join(char for char in unicodedata.normalize("NFKD", letters) if char.isalnum())
    return plain.replace("i", "l").replace("rn", "m").replace("vv", "w")


class ReservedNames:
    """The names of agents, and our own."""

    def __init__(self, agents: Iterable[str] = ()) -> None:
        self._likenesses = {likeness(name) for name in (*OURS, *agents)} - {""}

    def __contains__(self, name: str) -> bool:
        return likeness(name) in self._likenesses


def names_of_agents(programs: Iterable[Program]) -> set[str]:
    """The names of all agents of these programs that are no people."""
    return {agent.name for program in programs for agent in program.agents if agent.kind is not AgentKind.HUMAN}
