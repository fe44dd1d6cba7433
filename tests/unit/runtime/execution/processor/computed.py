"""What happened in a talk, and what the program's exact steps come to by what was accepted of a model."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.fakes.people.talk import Talk

Deed = tuple[str, Any]
"""A step that control came to, or a call with its arguments."""


class Over(Exception):
    """Nothing more was answered."""


class Computed:
    """A program's exact steps, computed from what was accepted of a model: its answers and messages, in order."""

    def __init__(self, accepted: Iterator[Deed]) -> None:
        self._accepted = accepted
        self.deeds: list[Deed] = []

    def run(self) -> list[Deed]:
        try:
            self.program()
        except Over:
            pass
        else:
            assert next(self._accepted, None) is None, "more was said and answered than the program asks for"
        return self.deeds

    def program(self) -> None:
        """Go through the program."""
        raise NotImplementedError

    def at(self, line: str) -> None:
        self.deeds.append(("step", line))

    def call(self, name: str, value: Any, **args: Any) -> Any:
        self.deeds.append((name, {key: None if one == "None" else one for key, one in args.items()}))
        return value

    def answer(self) -> Any:
        return self._next("answer")

    def said(self) -> Any:
        return self._next("said")

    def _next(self, kind: str) -> Any:
        found = next(self._accepted, None)
        if found is None:
            raise Over
        assert found[0] == kind, f"{kind} was due, and not {found}"
        return found[1]


def accepted(talk: Talk) -> Iterator[Deed]:
    """What was taken of the model's replies, in order."""
    for fact in talk.world.facts:
        data = fact.data
        if fact.kind == "res" and data["name"] == "Answer":
            yield "answer", data["val"]
        elif fact.kind == "fin" and data.get("name") == "Say":
            yield "said", data["text"]


def done(talk: Talk) -> list[Deed]:
    """The steps and calls that really were, in order."""
    found: list[Deed] = []
    for fact in talk.world.facts:
        data: Mapping[str, Any] = fact.data
        if fact.kind == "step":
            found.append(("step", data["at"]))
        elif fact.kind == "start" and data.get("up"):
            found.append((data["pb"], data["kwargs"]))
    return found
