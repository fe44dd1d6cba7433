"""Conversations that may have open questions: each is noted before its question is on the tape, so none is missed.

The register may have more than there is, after a crash. Who reads it looks at the session, which alone knows.

The questions that wait for people's answer, as their sessions have them now, and how they were answered.
`/bus/v1/questions`: what agents ask people, and what tools ask to be allowed, answered from elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from adapters.records import Records, what_can_be_read
from gateway.clients.requests import BusClient, answer, limit_of, object_of
from gateway.clients.views import FeatureDoor, GatewayView, acts, looks
from gateway.feature import FeatureGround, ServingGround
from runtime.core.address import CLIENT
from runtime.core.clock import Clock
from runtime.core.errors import ArchiveUnavailable, TapeConflict
from runtime.core.ids import SessionId
from runtime.core.plain_text import whole_number
from runtime.playbooks.remote import QUESTION as APPROVAL
from runtime.sessions.features import NodePart
from runtime.storage.redis.records import RedisRecords
from runtime.stores.catalog import SessionCatalog
from runtime.stores.inbox import ANSWER, Inbox, InboxEvent
from runtime.stores.sessions import Commit, SessionRecord
from runtime.tape.facts.frames import QuestionAsked, QuestionAskedAgain, WaitEnded
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import MessageQueued
from runtime.tape.snapshot import TapeMoments
from runtime.tape.state.frames import CallKey
from runtime.tape.state.people import QuestionState
from runtime.tape.state.session import SessionState
from runtime.tape.tape import TapeReader

QUESTIONS_TABLE = "questions:open"

_ASKING = frozenset({QuestionAsked.kind, QuestionAskedAgain.kind})
_ASK = "Ask"

_UNWRITTEN = timedelta(minutes=10)
"""The time within which what is noted may still come onto its tape."""

_WRITTEN = timedelta(seconds=10)
"""The time within which it may be noted again, where its tape is that long already."""

_MOST = 10**16
_ASKED_WITHIN = 3
"""The facts behind the beginning of a page among which its question is."""

_LOOKED_AT = 2_000
"""The facts after a question among which its answer is looked for."""
MAX_WORDS = 10_000

SETTLED_WITHIN_S = 5.0

MOST = 50
"""The most questions of one page: each is looked up in its session."""


class QuestionPlace(Struct, frozen=True):
    """A question of a session, by the call that asks it: when it was noted, and the number that its fact was to get."""

    session: SessionId
    call: CallKey
    noted_at: datetime
    seq: int

    @property
    def name(self) -> str:
        return _name(self.session, self.call)

    @property
    def approval(self) -> bool:
        """Whether a tool waits to be allowed."""
        return self.call.pos == APPROVAL


class QuestionRegister(NodePart):
    """Notes the questions of sessions in one durable table. Raises StorageUnavailable."""

    def __init__(self, records: Records, clock: Clock) -> None:
        self._records = records
        self._clock = clock

    async def committing(self, commit: Commit, /) -> None:
        """Note what is asked in a commit that is about to be made."""
        for fact in commit.facts:
            if fact.kind in _ASKING:
                call = CallKey(fact.data["f"], fact.data["pos"])
                await self._records.put(_name(commit.session, call), f"{self._clock.now().timestamp()} {fact.seq}")

    async def committed(self, commit: Commit, /) -> None:
        for fact in commit.facts:
            if fact.kind == WaitEnded.kind and fact.data.get("name") == _ASK:
                await self._records.remove(_name(commit.session, CallKey(fact.data["f"], fact.data["pos"])))

    async def all(self) -> list[QuestionPlace]:
        noted = {name: f"{name} {text}" for name, text in (await self._records.all()).items()}
        places = what_can_be_read(noted, _place).values()
        return sorted(places, key=lambda place: (place.noted_at, place.name), reverse=True)

    async def forget(self, place: QuestionPlace) -> None:
        await self._records.remove(place.name)


def _name(session: SessionId, call: CallKey) -> str:
    return f"{session} {call.frame} {call.pos}"


def _place(written: str) -> QuestionPlace:
    session, frame, rest = written.split(" ", 2)
    pos, noted, seq = rest.rsplit(" ", 2)
    return QuestionPlace(SessionId(session), CallKey(frame, pos), datetime.fromtimestamp(float(noted), UTC), int(seq))


def register_in(ground: FeatureGround) -> QuestionRegister:
    return QuestionRegister(RedisRecords(ground.connection, QUESTIONS_TABLE), ground.clock)


def open_node(ground: FeatureGround, _: ServingGround) -> QuestionRegister | None:
    return register_in(ground) if ground.settings.is_overseen else None


async def status(ground: FeatureGround) -> Mapping[str, Mapping[str, Any]]:
    """What owners decide: whether a tool may be used. What a program `asked` is for who chats with it."""
    places = await register_in(ground).all()
    tools = sum(place.approval for place in places)
    return {"decisions": {"questions": tools, "asked": len(places) - tools}}


class OpenQuestion(Struct, frozen=True):
    """A question of a session, which is in this state."""

    record: SessionRecord
    call: CallKey
    asked: QuestionState
    state: SessionState
    noted: QuestionPlace

    @property
    def agent(self) -> str:
        frame = self.state.frames.get(self.call.frame)
        return "" if frame is None else self.state.name_of(frame.agent)

    @property
    def of(self) -> list[str]:
        """The names of those whose answer alone counts; none: anybody's does."""
        if self.asked.each:
            return [name for name in self.asked.each if name not in self.asked.answers]
        return [] if self.asked.of is None else [self.state.called(self.asked.of)]


class GivenAnswer(Struct, frozen=True):
    """The answer to a question: the words, and who said them, "" where nobody did."""

    answer: str
    by: str
    event: str
    """The id of the event that brought the answer, "" for none."""


class QuestionsView(Struct, frozen=True):
    """Reads what is noted, and forgets of that what is no longer open. Raises StorageUnavailable."""

    register: QuestionRegister
    _catalog: SessionCatalog
    _tapes: TapeReader
    _moments: TapeMoments
    _clock: Clock

    async def at(self, place: QuestionPlace) -> OpenQuestion | None:
        """The question there; None where none is open."""
        known = await self._catalog.find(place.session)
        record = None if known is None else known.record
        found = None if record is None or _gone(record) else await self._found(place, record)
        if found is None:
            written = record is not None and record.seq >= place.seq
            if self._clock.now() - place.noted_at > (_WRITTEN if written else _UNWRITTEN):
                await self.register.forget(place)
        return found

    async def find(self, session: SessionId, page: str) -> OpenQuestion | None:
        """The open question of a session that this page of it shows."""
        known = await self._catalog.find(session)
        if known is None or _gone(known.record):
            return None
        record = known.record
        state = (await self._moments.at(session, record.seq)).state
        for call, asked in state.questions.items():
            if asked.page == page:
                return OpenQuestion(record, call, asked, state, QuestionPlace(session, call, known.last_at, record.seq))
        return None

    async def asked_on(self, session: SessionId, page: str) -> CallKey | None:
        """The call that asked the question which this page of a session showed; None where there was none."""
        first = whole_number(page, _MOST) or 0
        try:
            async for fact in self._tapes.read_session(session, after=first, until=first + _ASKED_WITHIN):
                asked = read_as(fact, QuestionAsked) or read_as(fact, QuestionAskedAgain)
                if asked is not None and asked.page == page:
                    return CallKey(asked.frame, asked.pos)
        except (ArchiveUnavailable, TapeConflict):
            return None
        return None

    async def answered(self, session: SessionId, call: CallKey, after: int) -> GivenAnswer | None:
        """How a question of fact `after` was answered; None where it was not, or not lately."""
        ended: WaitEnded | None = None
        count = 0
        try:
            async for fact in self._tapes.read_back(session):
                count += 1
                if fact.seq <= after or count > _LOOKED_AT:
                    break
                wait = read_as(fact, WaitEnded)
                if wait is not None and (wait.frame, wait.pos) == call:
                    ended = wait
                    if not wait.messages:
                        break
                if ended is None:
                    continue
                queued = read_as(fact, MessageQueued)
                if queued is not None and queued.message.id in ended.messages:
                    message = queued.message
                    return GivenAnswer(
                        str(ended.value or ""), message.sender_name or "", message.id.removeprefix("in.")
                    )
        except (ArchiveUnavailable, TapeConflict):
            return None
        return None if ended is None else GivenAnswer(str(ended.value or ""), "", "")

    async def until_closed(self, asked: OpenQuestion, within_s: float) -> bool:
        """Return when a question is no longer open: True, or when this time is over: False."""
        with anyio.move_on_after(within_s):
            async with self._tapes.following(asked.record.id) as following:
                while await self.find(asked.record.id, asked.asked.page) is not None:
                    await following.news()
            return True
        return False

    async def _found(self, place: QuestionPlace, record: SessionRecord) -> OpenQuestion | None:
        state = (await self._moments.at(place.session, record.seq)).state
        asked = state.questions.get(place.call)
        return None if asked is None else OpenQuestion(record, place.call, asked, state, place)


def _gone(record: SessionRecord) -> bool:
    """Whether nothing of a session waits any more."""
    return record.ended or record.replaced_by is not None or record.archived


class QuestionRoutes(GatewayView, frozen=True):
    questions: QuestionsView
    inbox: Inbox
    clock: Clock

    @looks("/questions")
    async def some(self, request: Request, client: BusClient) -> Response:
        """The open questions, the latest first. Their words need the scope `content`."""
        limit, after = min(limit_of(request), MOST), request.query_params.get("after", "")
        noted = await self.questions.register.all()
        names = [place.name for place in noted]
        rows: list[dict[str, Any]] = []
        left = list(noted[names.index(after) + 1 if after in names else 0 :])
        last = ""
        while left and len(rows) < limit:
            place = left.pop(0)
            found, last = await self.questions.at(place), place.name
            if found is not None:
                rows.append(_question(found, await self.door.rooms.words(client.scopes, found.record)))
        return answer({"questions": rows, "next": last if left else None})

    @acts("/questions/{session}/{page}/answer")
    async def answer(self, request: Request, client: BusClient) -> Response:
        """Answer one with {"option": n} or {"text"}. The first answer counts, wherever it is given."""
        session, page = SessionId(request.path_params["session"]), str(request.path_params["page"])
        given = await object_of(request)
        found = await self.questions.find(session, page)
        if found is None:
            raise await self._closed(client, session, page)
        await self.door.rooms.check_room(client, found.record)
        if found.of:
            who = ", ".join(found.of) if client.scopes.content else "somebody else"
            raise HTTPException(409, f"Only {who} can answer this.")
        event = self._event(client, found, *_said(given, found))
        await self.inbox.add(event)
        if not await self.questions.until_closed(found, SETTLED_WITHIN_S):
            return answer({"settled": False, "counted": None, "answer": None, "by": None}, 202)
        how = await self.questions.answered(session, found.call, int(found.asked.page))
        return answer(_outcome(how, event, content=client.scopes.content))

    async def _closed(self, client: BusClient, session: SessionId, page: str) -> HTTPException:
        """The refusal of an answer to what is no longer open."""
        call = await self.questions.asked_on(session, page)
        if call is None or (not client.scopes.private and await self.door.rooms.has(session)):
            return HTTPException(404, "There is no such question.")
        how = await self.questions.answered(session, call, int(page))
        if how is None or not how.answer:
            return HTTPException(409, "This question is no longer open: it was closed before anybody answered.")
        if not client.scopes.content:
            return HTTPException(409, "This question was answered already.")
        by = f", by {how.by}" if how.by else ""
        return HTTPException(409, f"This question was answered already: {how.answer}{by}.")

    def _event(self, client: BusClient, found: OpenQuestion, choice: str, text: str) -> InboxEvent:
        """The answer as an event. Whoever answers the same question is told by its words which answer counts."""
        record, page = found.record, found.asked.page
        named = hashlib.sha256(f"{client.source}\0{client.shown}\0{record.id}\0{page}\0{text}".encode()).hexdigest()
        return InboxEvent(
            f"{ANSWER}.{named[:32]}",
            record.address,
            f"{CLIENT}:{client.name}",
            client.shown or client.name,
            text,
            self.clock.now(),
            kind=ANSWER,
            choice=choice,
            private=found.state.private,
            program=record.program,
            by_owner=True,
        )


def _said(given: Mapping[str, Any], found: OpenQuestion) -> tuple[str, str]:
    """The id of the choice, and the words. Raises HTTPException."""
    options, page = found.asked.options, f"{str(found.record.id)[:8]}.{found.asked.page}"
    option, text = given.get("option"), given.get("text")
    if type(option) is int and 0 <= option < len(options):
        return f"{page}.{option}", options[option]
    if isinstance(text, str) and text.strip() and len(text) <= MAX_WORDS and option is None:
        return f"{page}.free", text.strip()
    wanted = f"option, a number below {len(options)}, or text" if options else "text"
    raise HTTPException(422, f"An answer has {wanted} of at most {MAX_WORDS:,} characters.")


def _outcome(how: GivenAnswer | None, event: InboxEvent, *, content: bool) -> dict[str, Any]:
    if how is None:
        return {"settled": True, "counted": False, "answer": None, "by": None}
    said, by = (how.answer, how.by or None) if content else (None, None)
    return {"settled": True, "counted": how.event == event.id, "answer": said, "by": by}


def _question(found: OpenQuestion, content: bool) -> dict[str, Any]:
    record, asked, order = found.record, found.asked, found.state.order
    place = record.address if order is None else order.home
    return {
        "session": record.id,
        "page": asked.page,
        "seq": int(asked.page),
        "kind": "approval" if found.noted.approval else "question",
        "conversation": place.key,
        "program": record.program,
        "agent": found.agent,
        "asked_at": found.noted.noted_at.isoformat(),
        "of": found.of if content else [""] * len(found.of),
        "text": asked.text if content else None,
        "options": list(asked.options) if content else None,
    }


def question_routes(ground: FeatureGround, door: FeatureDoor) -> Sequence[BaseRoute]:
    own, clock = ground.database, ground.clock
    questions = QuestionsView(register_in(ground), own.catalog, own.tapes, door.moments, clock)
    return QuestionRoutes(door, questions, own.inbox, clock).routes()
