"""`/fork`: the conversation continues in a second place, and may bring its result back; the first stays unchanged."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

import anyio
from msgspec import Struct

from runtime.core.address import SCRATCH, Address, address_data
from runtime.core.errors import AdapterError, ArchiveUnavailable, CommandRefused, InboxFull, TapeConflict
from runtime.core.ids import MessageId, PersonId, SessionId
from runtime.core.markup import MarkdownPart
from runtime.core.message import Message
from runtime.core.quote import Quote
from runtime.sessions.features import SessionPart
from runtime.sessions.node_context import NodeContext
from runtime.sessions.succession import SessionSuccession, title_of, words_within
from runtime.stores.inbox import FORK, MERGED, InboxEvent
from runtime.stores.sessions import SessionRecord, SessionStore
from runtime.tape.facts.people import PageFinished
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.session import ForkMerged, ForkSettled, ResultReturned, ThreadOpened
from runtime.tape.tape import TapeBranch

OPENED_WITHIN_S = 60.0
"""The time limit of a fork's platform."""

MAX_RESULT_CHARS = 2_000
"""The length of the last words."""


class ForkOrigin(Struct, frozen=True):
    """The branch that a fork goes on from, and the place where it was asked for, as the text of its event has them;
    `link` leads there where links do. A fork in a scratch room has no home, and gives no result to anybody."""

    branch: TapeBranch
    home: Address | None
    link: str = ""

    @classmethod
    def read(cls, text: str) -> ForkOrigin:
        """The inverse of `str`. Raises ValueError."""
        session, seq, more = text.split(" ", 2)
        home, link = json.loads(more)
        return cls(TapeBranch(SessionId(session), int(seq)), None if home is None else Address(*home), link)

    def __str__(self) -> str:
        home = None if self.home is None else address_data(self.home)
        return f"{self.branch.session} {self.branch.seq} {json.dumps([home, self.link])}"


class ForkResult(Struct, frozen=True):
    """The last words in a fork that has ended, and the facts that led to them."""

    session: SessionId
    first: int
    last: int
    text: str

    @classmethod
    def read(cls, text: str) -> ForkResult:
        """The inverse of `str`. Raises ValueError."""
        session, first, last, said = text.split(" ", 3)
        return cls(SessionId(session), int(first), int(last), said)

    def __str__(self) -> str:
        return f"{self.session} {self.first} {self.last} {self.text}"


class SessionForks(SessionPart):
    """Opens forks of one session in memory, and takes in their results; gives its own back if it is a fork."""

    kinds = frozenset({MERGED})

    async def open(self, event: InboxEvent) -> str:
        """Open a place and have a session begin there that goes on from here; returns the text for the people here.
        Raises CommandRefused.

        Done again after a crash it comes to the same: what was opened is on the tape before anything begins there.
        """
        await self._journal.commit()
        exchanges = self._journal.state.exchanges
        seq = max(self._journal.rested, exchanges[-1].seq if exchanges else 0)
        if not seq:
            raise CommandRefused(self._say("nothing_to_fork"))
        last = self._last_said(seq)
        title = title_of(event.text) or title_of(
            self._say("fork_title", text=last.text if last else self._record.program)
        )
        try:
            with anyio.fail_after(OPENED_WITHIN_S):
                opened = await self._opened(event, title, seq)
        except (AdapterError, TimeoutError) as error:
            raise CommandRefused(self._say("fork_failed", error=str(error) or self._say("no_answer"))) from error
        if opened is None:
            raise CommandRefused(self._say("no_threads"))
        place, seq = opened
        here = await self._around.outbox.link(self._record.address)
        origin = ForkOrigin(self._record.at(seq), self._record.address, here or "")
        begins = InboxEvent(
            id=f"fork.{event.id}",
            address=place,
            person_id=event.person_id,
            person_name=event.person_name,
            text=str(origin),
            sent_at=event.sent_at,
            kind=FORK,
            quote=last,
            private=event.private,
            program=self._record.program,
            by_guest=event.by_guest,
        )
        try:
            await self._inbox.add(begins)
        except InboxFull as full:
            self._journal.note(ForkSettled(event.id))
            raise CommandRefused(self._say("fork_failed", error=self._around.texts("inbound.full"))) from full
        self._journal.note(ForkSettled(event.id))
        there = await self._around.outbox.link(place)
        return (
            self._say("forked_to", link=MarkdownPart(there), title=title) if there else self._say("forked", title=title)
        )

    async def _opened(self, event: InboxEvent, title: str, seq: int) -> tuple[Address, int] | None:
        known = self._journal.state.threads.get(event.id)
        if known is None:
            address, nonce = self._record.address, f"fork.{self._record.id}.{event.id}"
            opened = await self._around.outbox.open_thread(address, title, nonce=nonce)
            if opened is None:
                return None
            thread = ThreadOpened(event.id, seq, opened.platform, opened.conversation, opened.thread)
            self._journal.note(thread)
            await self._journal.commit()
            known = self._journal.state.threads[event.id]
        return Address(known.platform, known.conversation, known.thread), known.seq

    def _last_said(self, seq: int) -> Quote | None:
        """The last words before the fork."""
        before = [one for one in self._journal.state.exchanges if one.seq < seq]
        return Quote(before[-1].message or "", before[-1].name, before[-1].text) if before else None

    async def settled(self) -> None:
        """Put the result of a fork that has ended into the inbox of where it is from, once."""
        home = self._journal.state.home
        if home is None or not self._journal.state.ended:
            return
        await self._journal.commit()
        result = ForkResult(self._record.id, home.first, self._journal.state.seq, await self._said_last(home.first))
        event = InboxEvent(
            id=f"merged.{self._record.id}",
            address=Address(home.platform, home.conversation, home.thread),
            person_id="",
            person_name="",
            text=str(result),
            sent_at=self._around.clock.now(),
            kind=MERGED,
        )
        with suppress(InboxFull):  # it stays owed, and the session with it, until a restart
            await self._inbox.add(event)
            self._journal.note(ResultReturned())

    async def _said_last(self, first: int) -> str:
        said = ""
        async for fact in self._around.store.read_session(self._record.id, after=first - 1):
            finished = read_as(fact, PageFinished)
            if finished is not None and finished.pos is not None:
                said = finished.text
        return said[:MAX_RESULT_CHARS]

    async def take_own(self, event: InboxEvent, /) -> None:
        """Let the first agent know what came of a fork, with the next message."""
        result = ForkResult.read(event.text)
        agent = next(iter(self._journal.state.agents), None)
        if agent is not None:
            content = f"A copy of this conversation went on elsewhere and has ended. Said last there: {result.text}"
            message = Message(MessageId(event.id), PersonId("fork"), "Fork", content, event.sent_at)
            self._journal.note(ForkMerged(agent, message, result.session, result.first, result.last))
        self._pages.tell(self._say("merged", text=words_within(result.text)))

    def _say(self, key: str, **values: object) -> str:
        return self._around.texts(f"session.{key}", **values)


async def why_lost(event: InboxEvent, store: SessionStore) -> str:
    """The reason why no session can start with an event of kind FORK: its source is missing; "" if it exists."""
    try:
        branch = ForkOrigin.read(event.text).branch
    except (ValueError, TypeError):
        return "it names nothing that a fork could continue"
    try:
        async for _ in store.read_session(branch.session, after=branch.seq - 1, until=branch.seq):
            return ""
    except (ArchiveUnavailable, TapeConflict) as error:
        return str(error)
    return f"the session {branch.session} that it continues was deleted, or has no fact {branch.seq}"


def scratch_of(event: InboxEvent) -> SessionId | None:
    """The id of the session that an event of kind FORK begins in a scratch room; None for any other event."""
    room = event.kind == FORK and event.address.platform == SCRATCH
    return SessionId(event.address.conversation) if room else None


def forked(record: SessionRecord, event: InboxEvent, around: NodeContext) -> SessionSuccession:
    """The session that an event of kind FORK starts. One that goes on in the same conversation has no home to give a
    result to."""
    origin, quote = ForkOrigin.read(event.text), event.quote
    key = "fork_begins" if quote is None else "fork_begins_after"
    said = {} if quote is None else {"name": quote.author, "text": words_within(quote.text)}
    told = [around.texts(f"session.{key}", **said)]
    begun = replace(record, seq=origin.branch.seq, parent=origin.branch)
    if origin.home is None:
        return SessionSuccession(begun, around.texts("session.scratch_begins"))
    if origin.home == record.address:
        return SessionSuccession(begun, around.texts("session.tried_again"))
    if origin.link:
        told.append(around.texts("session.fork_link", link=MarkdownPart(origin.link)))
    return SessionSuccession(begun, " ".join(told), home=origin.home)
