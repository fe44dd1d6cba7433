"""What happened in one run of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from evals.talks import Call

How = Literal["ended", "waiting", "failed", "too long", "too much"]
"""The program ended; it waits for a person who has nothing more to say; something failed; the time was over; there were
more messages than anybody would read."""


class Shown(Struct):
    """A message that people saw, as it is at the end, with the labels of its buttons in square brackets.

    `line` is how many lines people had said when it began.
    """

    speaker: str
    text: str
    line: int


class Cost(Struct):
    """What the model was asked and has answered. Times are in seconds.

    `tokens_in` and `tokens_out` are as the provider counts them; `uncounted` requests were cut off before it did.
    `unseen_chars` has, for each line, what the model wrote before the first visible character after it;
    `first_visible_s` how long people waited for that.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    uncounted: int = 0
    chars_in: int = 0
    chars_out: int = 0
    chars_shown: int = 0
    unseen_chars: list[int] = field(default_factory=list)
    first_visible_s: list[float] = field(default_factory=list)
    seconds: float = 0.0


class Happening(Struct):
    """Something that happened in a run. `kind` is "person", "shown", "call", "asked" or "wrote"; of what the model was
    asked `text` is the last message, and `prompt` all of them."""

    kind: Literal["person", "shown", "call", "asked", "wrote"]
    text: str
    prompt: tuple[str, ...] = ()


class Record(Struct):
    """One run. `variables` are those at the end, by agent; `unsaid` the lines that nobody came to say."""

    how: How
    why: str = ""
    shown: list[Shown] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    first_agent: str = ""
    variables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unsaid: list[str] = field(default_factory=list)
    replies_left: int = 0
    """Scripted replies that nobody asked for."""
    cost: Cost = field(default_factory=Cost)
    course: list[Happening] = field(default_factory=list)
    """What happened, in its order; a message of an agent where it was complete."""
