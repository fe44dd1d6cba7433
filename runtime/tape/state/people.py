"""People, what they did and what they see, as a session's state has them. Data only; `fold` writes it."""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec import Struct, field

from runtime.core.address import Address
from runtime.core.ids import AgentId, PersonId
from runtime.core.message import Attachment

MAX_REMEMBERED = 500
"""Messages of one conversation whose ids on the platform are remembered, of people and of agents each."""

MAX_EXCHANGES = 100
"""Exchanges of one conversation that can be undone, the latest ones."""

MAX_FILES = 50
"""Files of one conversation that its agents can read."""

PageStatus = Literal["open", "held", "final", "closed"]

NUMBERED = re.compile(r"\s*[(\uff08]\s*(\d{1,6})\s*[)\uff09]\s*\Z")
"""The ending of a name that tells two people apart who show the same one."""


class PageState(Struct):
    """One utterance on its way to people, or several that are shown together (`held` until then). `opened` are the
    parts that were about to be sent, with that text.
    """

    id: str
    frame: str
    agent: str
    to: str
    status: PageStatus = "open"
    text: str = ""
    opened: dict[int, str] = field(default_factory=dict)
    parts: dict[int, str] = field(default_factory=dict)
    stands: str = ""
    """How much of it was shown at last while it is open; "" before that."""
    shown: bool = False
    reply_to: str | None = None
    choices: list[list[Any]] = field(default_factory=list)
    """Id and label of each."""
    file: Attachment | None = None
    place: Address | None = None
    """Where it is shown, if not in the session's own conversation."""
    moved: bool = False
    """Whether it is shown in another place than the one where it was asked for."""
    alone: str = ""
    """The id of the one person who is to see it; "" for everybody there."""
    step: str = ""
    """The place in the program that says it."""
    model: str = ""
    """The model that had answered last when it began, where a model speaks."""
    due: float | None = None
    """When what is held back is shown at the latest, in seconds since the epoch."""

    @property
    def visible(self) -> str:
        """What people may see of it while it is open."""
        return self.stands or self.opened.get(0, "")


class PersonState(Struct):
    """A person who took part: the name they show, and which human of the program they are, if one.

    `since` is when they first did, in seconds since the epoch; 0 when that is not known.
    """

    name: str
    declared: str | None = None
    since: float = 0.0
    alike: bool = False
    """Whether the name they show is that of a human of the program whom they are not."""
    guest: bool = False
    named_at: int = 0
    """The fact since which they show their name; 0 where that is not known."""

    def names(self) -> tuple[str, ...]:
        """Their possible names, in small letters."""
        return (self.name.casefold(), *([self.declared.casefold()] if self.declared else []))


class HeardState(Struct):
    """A person's message as the platform knows it; `agent` is whom it went to, `files` the addresses of its files."""

    message: str
    agent: AgentId
    person: PersonId
    name: str
    text: str
    files: tuple[str, ...] = ()


def rated(person: str, message: str) -> str:
    """The key of a person's rating of a message."""
    return f"{person} {message}"


class SaidState(Struct):
    """An agent's message as the platform knows it."""

    agent: str
    text: str
    step: str = ""
    """The place in the program that said it."""
    model: str = ""


class QuestionState(Struct):
    """A question that waits for its answer. `parts` are the platform's ids of its page, `of` whose answer counts.

    `each` are those who are all asked, ids by the names that the program has for them, and `answers` what they said,
    None for who has left without it.
    """

    frame: str
    page: str
    text: str
    options: list[str]
    of: PersonId | None
    reply_to: str | None
    parts: dict[int, str] = field(default_factory=dict)
    each: dict[str, str] = field(default_factory=dict)
    answers: dict[str, str | None] = field(default_factory=dict)

    def wants(self, person: str) -> bool:
        """Whether the answer of this person counts."""
        if self.each:
            return any(id_ == person and name not in self.answers for name, id_ in self.each.items())
        return self.of in (None, person)

    place: Address | None = None


class ClosedQuestion(Struct):
    """A question whose choices have to go; `free`: it asked for words. `chosen` is the line that takes their place."""

    page: str
    agent: str
    text: str
    free: bool
    reply_to: str | None
    parts: dict[int, str]
    place: Address | None = None
    chosen: str = ""


class ExchangeState(Struct):
    """An act of somebody while nothing went on, and all its consequences until nothing went on again.

    `seq` is the last fact before it. `message` is the platform's id of what was said, `also` those of what was said
    while it was being answered.
    """

    seq: int
    person: PersonId
    name: str
    text: str
    message: str | None
    also: list[str] = field(default_factory=list)


class ThreadState(Struct):
    """A conversation opened for a fork that has not been announced: its place, and up to which fact it goes."""

    platform: str
    conversation: str
    thread: str | None
    seq: int


class HomeState(Struct):
    """The destination of a fork's result when it ends; `first` is the fork's first own fact."""

    platform: str
    conversation: str
    thread: str | None
    first: int


def plain_name(name: str) -> str:
    """A name in small letters, without a number at its end."""
    return NUMBERED.sub("", name).casefold()
