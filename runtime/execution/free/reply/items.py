"""The items of a model's reply, in the order of reading."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplyProse:
    """Text outside the code, without the blanks around it; given once it is complete."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplyRemark:
    """A comment on a separate line at the top level, without its "#": "recap: …", "trig? no", "resume: 3"."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class ReplyStatement:
    """One complete top-level statement that parses as Python.

    `source` has no `$` before names; `dollar_names` are the names that had one. `line` counts from 1 in the code.
    """

    source: str
    line: int
    dollar_names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SayStarted:
    """The head of a top-level `await Say(target, "…")` is known and its text begins; its statement comes later."""

    target: str
    line: int


@dataclass(frozen=True, slots=True)
class SayText:
    """The next piece of the text that is being said, with Python's escapes decoded."""

    text: str


@dataclass(frozen=True, slots=True)
class SayName:
    """A placeholder `{name}` of an f-string: here the text has the value of that variable."""

    name: str


@dataclass(frozen=True, slots=True)
class SayHeld:
    """The rest of this text is known only at the call's execution, so no more of it is streamed."""


@dataclass(frozen=True, slots=True)
class BrokenCode:
    """The code cannot become valid Python any more; nothing is read after it.

    `line` counts from 1 in the code, `source` is the statement as far as it was read.
    """

    message: str
    line: int
    source: str


SayItem = SayStarted | SayText | SayName | SayHeld
ReplyItem = ReplyProse | ReplyRemark | ReplyStatement | SayItem | BrokenCode
