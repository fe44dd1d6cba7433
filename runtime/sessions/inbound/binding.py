"""The binding of people in a conversation to the humans that a program declares."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.ids import PersonId, is_human_word, parse_agent_id, parse_meeting_id
from runtime.core.message import attachment_from
from runtime.language.syntax.humans import HumanSpec
from runtime.stores.inbox import REMARKS, InboxEvent
from runtime.tape.facts.people import FileReceived, PersonBound, PersonMet
from runtime.tape.journal import Journal
from runtime.tape.state.people import PersonState

Tell: TypeAlias = Callable[[str, Address | None], object]
"""Shows people a sentence, in the session's own conversation or in a place."""

MAX_NAME_CHARS = 80
"""The length to which a name is kept. Chosen: longer than people's names are, and short in a line of text."""

_TURNING = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))


class HumanBinding:
    """Notes the people of one session as they take part, and binds each to one declared human at most.

    A human whose program says `person:` is only one of these. Else they are who shows their name, else, where the
    program declares one human in all, whoever takes part first. First come, and it stays so: everybody else is heard
    by the name they show. Whoever writes on two platforms is two people here.
    """

    def __init__(
        self, journal: Journal, humans: Sequence[HumanSpec], classes: Collection[str], clock: Clock, tell: Tell
    ) -> None:
        """`classes` are those of the agents, whose names tell nobody apart. `tell` shows people a sentence."""
        self._tell = tell
        self._journal = journal
        self._classes = frozenset(klass.casefold() for klass in classes)
        self._humans = humans
        self._clock = clock

    def meet(self, event: InboxEvent) -> None:
        """Record the author of an event, if it has one, and the files that came with it."""
        if event.person_id:
            self._meet_author(event)
        for data in event.attachments:
            file = attachment_from(data)
            self._journal.note(
                FileReceived(file.name, file.media_type, file.url, file.size_bytes, file.parts, file.note)
            )
            for remark in data.get(REMARKS, ()):
                self._tell(remark, event.place)

    def _meet_author(self, event: InboxEvent) -> None:
        id_, name = event.author, plain_name(event.person_name) or event.person_id
        known = self._people.get(id_)
        spec = self._fitting(id_, name) if known is None or known.declared is None else None
        if known is None or (known.name, known.guest) != (name, event.by_guest):
            alike = spec is None and self._is_anothers(name)
            self._journal.note(PersonMet(id_, name, self._clock.now().timestamp(), alike, event.by_guest))
        if spec is not None:
            self._bind(id_, spec)

    def _is_anothers(self, name: str) -> bool:
        """Whether a name means somebody else: a human of the program, an agent, or whom programs mean by it."""
        words = name.casefold() in {*self._classes, "meeting"} or is_human_word(name)
        numbered = parse_agent_id(name) is not None or parse_meeting_id(name) is not None
        return words or numbered or any(human.is_called(name) for human in self._humans)

    def claim(self, event: InboxEvent) -> tuple[str, dict[str, object]]:
        """The result of a person's claim to be a declared human: the key of the answer, and its values."""
        wanted = event.text.strip()
        spec = next((spec for spec in self._humans if spec.is_called(wanted)), None)
        if spec is None:
            known = ", ".join(spec.declared for spec in self._humans)
            return ("iam_unknown", {"name": wanted, "known": known}) if known else ("iam_nobody", {})
        holder, claims = self._holder(spec), event.author
        if holder is not None and holder != claims:
            return "iam_taken", {"name": spec.declared, "person": self._people[holder].name}
        if spec.people and claims not in spec.people:
            return "iam_reserved", {"name": spec.declared}
        if holder is None:
            self._bind(claims, spec)
        return "iam_bound", {"name": spec.declared, "person": self._people[claims].name}

    @property
    def _people(self) -> dict[PersonId, PersonState]:
        return self._journal.state.people

    def _holder(self, spec: HumanSpec) -> PersonId | None:
        return next((id_ for id_, person in self._people.items() if person.declared == spec.declared), None)

    def _fitting(self, person: str, name: str) -> HumanSpec | None:
        free = [spec for spec in self._humans if self._holder(spec) is None]
        named = next((spec for spec in free if person in spec.people), None)
        free = [spec for spec in free if not spec.people]
        named = named or next((spec for spec in free if spec.is_called(name)), None)
        return named or (free[0] if free and len(self._humans) == 1 else None)

    def _bind(self, person: PersonId, spec: HumanSpec) -> None:
        self._journal.note(PersonBound(person, spec.declared))


def plain_name(name: str) -> str:
    """The name that somebody shows as it is known here: on one line, of readable characters, not too long."""
    readable = "".join(" " if _is_control(character) else character for character in name)
    return " ".join(readable.split())[:MAX_NAME_CHARS].strip()


def _is_control(character: str) -> bool:
    """Control characters, and those that turn the direction of what follows them."""
    return unicodedata.category(character) == "Cc" or character in _TURNING
