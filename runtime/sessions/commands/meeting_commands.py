"""Commands about meetings: looking, inviting, sharing, leaving and ending."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from runtime.agents.invitations import HumanAttendees
from runtime.agents.meeting_host import MeetingHost, attendee
from runtime.core.errors import PlaybookError, UnknownTarget
from runtime.core.ids import ParticipantId
from runtime.core.markup import MarkdownPart
from runtime.core.texts import Texts
from runtime.meetings.meetings import write_shared
from runtime.sessions.commands.session_commands import MAX_LINES, lasting
from runtime.sessions.features import SessionPart, SessionParts
from runtime.sessions.succession import words_within
from runtime.stores.inbox import InboxEvent
from runtime.tape.state.meetings import MAX_HISTORY, MeetingState
from runtime.tape.state.session import SessionState

MAX_VALUE_CHARS = 200
"""The length of a shared value."""

_INVITATION = re.compile(r"@?(?P<name>.+?)(?:\s+to\s+(?:meeting\s+)?(?P<number>\d+))?\s*", re.IGNORECASE | re.DOTALL)
_ABOUT = re.compile(r"\s*(?:meeting\s+)?(?P<number>\d+)?\s*(?P<rest>.*)", re.IGNORECASE | re.DOTALL)
_SET = re.compile(r"set\s+(?P<name>\S+)\s+(?P<value>.*\S)\s*", re.IGNORECASE | re.DOTALL)


def list_of(meetings: Sequence[MeetingState], now_s: float, texts: Texts) -> str:
    lines = [texts("meeting.several")]
    for meeting in meetings[:MAX_LINES]:
        time, count = lasting(now_s - meeting.since, texts), len(meeting.joined)
        lines.append(
            texts("meeting.line", number=meeting.id, topic=words_within(meeting.topic), count=count, time=time)
        )
    return "\n".join([*lines, *_more(len(meetings), texts)])


def view_of(state: SessionState, meeting: MeetingState, now_s: float, texts: Texts) -> str:
    time = lasting(now_s - meeting.since, texts)
    lines = [texts("meeting.head", number=meeting.id, topic=words_within(meeting.topic), time=time)]
    if meeting.status != "active":
        lines.append(texts("meeting.gathers"))
    lines += [_participant(state, meeting, one, now_s, texts) for one in meeting.joined[:MAX_LINES]]
    lines += _more(len(meeting.joined), texts)
    lines += _asked(state, meeting, texts)
    blocks = ["\n".join(lines), "\n".join(_shared(state, meeting, texts)), _said(meeting, texts)]
    return "\n\n".join(block for block in blocks if block)  # what follows a list directly would belong to it


def shown_value(value: Any) -> str:
    """A value as people see it: JSON, cut when it is long, as code."""
    text = json.dumps(value, ensure_ascii=False)
    text = text if len(text) <= MAX_VALUE_CHARS else f"{text[: MAX_VALUE_CHARS - 1]}…"
    return f"`{text.replace('`', chr(0x2CB))}`"


def _participant(state: SessionState, meeting: MeetingState, one: ParticipantId, now_s: float, texts: Texts) -> str:
    time = lasting(now_s - meeting.came.get(one, meeting.since), texts)
    agent = state.agent(one)
    if agent is None:
        return texts("meeting.person", name=state.called(one), time=time)
    key = "meeting.host" if one == meeting.host else "meeting.agent"
    return texts(key, name=agent.klass, which=state.number_of(agent), time=time)


def _asked(state: SessionState, meeting: MeetingState, texts: Texts) -> Iterator[str]:
    for one in meeting.asks:
        name, answer = _named(state, one), meeting.invited.get(one)
        yield texts("meeting.answered", name=name, answer=answer) if answer else texts("meeting.asked", name=name)


def _shared(state: SessionState, meeting: MeetingState, texts: Texts) -> Iterator[str]:
    if meeting.shared:
        yield texts("meeting.shared")
    for name, known in meeting.shared.items():
        by = _named(state, known.by)
        yield texts(
            "meeting.value", name=name, value=MarkdownPart(shown_value(known.value)), version=known.version, who=by
        )


def _named(state: SessionState, one: ParticipantId) -> str:
    agent = state.agent(one)
    return f"{agent.klass}{state.number_of(agent)}" if agent is not None else state.called(one)


def _said(meeting: MeetingState, texts: Texts) -> str:
    count = len(meeting.history)
    if not count:
        return texts("meeting.said_nothing")
    return texts("meeting.said", count=f"{count}+" if count == MAX_HISTORY else count)


def _more(count: int, texts: Texts) -> Iterator[str]:
    if count > MAX_LINES:
        yield texts("meeting.more", count=count - MAX_LINES)


class MeetingCommands(SessionPart):
    """The commands about the meetings of one session. Which of them is meant is found out where no number is given:
    the one that is held where the command was given, else the one that the person is in, else the only one."""

    def __init__(self, parts: SessionParts, meeting_host: MeetingHost, human_attendees: HumanAttendees) -> None:
        super().__init__(parts)
        self._clock = parts.around.clock
        self._agents = parts.agents
        self._meeting_host = meeting_host
        self._human_attendees = human_attendees
        self._texts: Texts = parts.pages.texts
        self.commands = {"meeting": self._meeting, "invite": self._invite, "leave": self._leave}

    async def _meeting(self, event: InboxEvent) -> None:
        found = _ABOUT.fullmatch(event.text)
        assert found is not None  # it takes every text
        meeting, rest = self._meant(event, found["number"]), found["rest"].strip()
        if not rest:
            self._pages.answer(self._view(meeting), event)
        elif isinstance(meeting, str):
            self._pages.answer(meeting, event)
        elif rest.lower() == "end":
            self._end(event, meeting)
        elif (setting := _SET.fullmatch(rest)) is not None:
            self._set(event, meeting, setting["name"], setting["value"])
        else:
            self._tell(event, "usage")

    def _view(self, meeting: MeetingState | str) -> str:
        state, now_s = self._journal.state, self._clock.now().timestamp()
        if not isinstance(meeting, str):
            return view_of(state, meeting, now_s, self._texts)
        going_on = self._meeting_host.meetings.going_on()
        return list_of(going_on, now_s, self._texts) if len(going_on) > 1 else meeting

    def _end(self, event: InboxEvent, meeting: MeetingState) -> None:
        if not (event.by_owner or event.private or event.person_id in meeting.joined):
            self._tell(event, "may_not", number=meeting.id)
            return
        self._meeting_host.meetings.end(meeting, by=event.author)
        self._announce(event, "ended", number=meeting.id)

    def _set(self, event: InboxEvent, meeting: MeetingState, name: str, text: str) -> None:
        value = _data(text)
        try:
            version = write_shared(self._journal, meeting, name, value, by=event.author)
        except (PlaybookError, UnknownTarget) as error:
            self._tell(event, "not_set", error=error)
        else:
            shown = MarkdownPart(shown_value(value))
            self._announce(event, "set", name=name, value=shown, number=meeting.id, version=version)

    async def _invite(self, event: InboxEvent) -> None:
        found = _INVITATION.fullmatch(event.text.strip())
        if found is None:
            self._tell(event, "invite_usage")
            return
        meeting, said = self._meant(event, found["number"]), found["name"]  # people may write a class in any case
        name = next((klass for klass in self._agents.classes() if klass.lower() == said.lower()), said)
        if isinstance(meeting, str):
            self._pages.answer(meeting, event)
            return
        state = self._journal.state
        try:
            who = attendee(name, meeting.host, state, self._agents)
        except UnknownTarget:
            self._tell(event, "nobody", name=words_within(name), known=MarkdownPart(self._known()))
            return
        alike = state.people_named(name)
        if who in alike[:1] and len(alike) > 1:
            known = ", ".join(map(state.called, alike))
            self._tell(event, "ambiguous", name=words_within(name), known=known)
            return
        called = state.name_of(who)
        if who in meeting.joined:
            self._tell(event, "in_already", name=called, number=meeting.id)
        elif await self._meeting_host.invite(meeting, event.author, [name]):
            self._announce(event, "invited", name=called, number=meeting.id)
        else:
            self._tell(event, "invited_already", name=called, number=meeting.id)

    def _known(self) -> str:
        state = self._journal.state
        names = dict.fromkeys([*self._agents.classes(), *(person.name for person in state.people.values())])
        return self._texts("meeting.known", names=", ".join(names))

    async def _leave(self, event: InboxEvent) -> None:
        number = event.text.strip().lower().removeprefix("meeting").strip()
        person = event.author
        mine = [m for m in self._meeting_host.meetings.going_on() if self._human_attendees.concerns(m, person)]
        meeting = self._meant(event, number or None, among=mine) if mine else self._texts("meeting.not_in")
        if isinstance(meeting, str):
            self._pages.answer(meeting, event)
        elif meeting not in mine:
            self._tell(event, "not_in_it", number=meeting.id)
        else:
            key = "left" if person in meeting.joined else "declined"
            self._human_attendees.leave(meeting, person)
            self._announce(event, key, number=meeting.id)

    def _meant(
        self, event: InboxEvent, number: str | None, *, among: list[MeetingState] | None = None
    ) -> MeetingState | str:
        """The meeting that is meant, or the sentence why that is not clear."""
        going_on = self._meeting_host.meetings.going_on()
        if not going_on:
            return self._texts("meeting.none")
        numbers = ", ".join(f"{m.id} ({words_within(m.topic)})" for m in going_on)
        if number is not None:
            going = self._texts("meeting.going", numbers=numbers)
            unknown = self._texts("meeting.unknown", number=number, going=MarkdownPart(going))
            return next((m for m in going_on if m.id == number), unknown)
        here = [m for m in going_on if event.place is not None and m.hears_from(event.place)]
        joined = [m for m in going_on if event.person_id in m.joined]
        for found in (here, joined, going_on) if among is None else (here, among):
            if len(found) == 1:
                return found[0]
        return self._texts("meeting.which", numbers=numbers)

    def _announce(self, event: InboxEvent, key: str, **values: object) -> None:
        """Tell everybody there where it was asked what was done."""
        self._pages.tell(self._texts(f"meeting.{key}", **values), event.place)

    def _tell(self, event: InboxEvent, key: str, **values: object) -> None:
        self._pages.answer(self._texts(f"meeting.{key}", **values), event)


def _data(text: str) -> Any:
    """A person's text as a value: data where it reads as JSON, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
