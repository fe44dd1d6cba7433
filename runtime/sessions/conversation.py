"""One task per conversation: its sessions one after the other, its events in order."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from runtime.channels.outbox import show_once
from runtime.core import errors
from runtime.core.address import GATEWAY, session_of
from runtime.core.ids import SessionId
from runtime.core.page import PageSpec
from runtime.core.plain_text import MAX_ERROR_CHARS, error_text, shortened
from runtime.events.service import ArchiveFailed
from runtime.events.sessions import ContentIsLocked, SessionFailed, SessionFenced
from runtime.language.program import Program
from runtime.sessions.beginning import Beginning, is_of_beginning, why_none
from runtime.sessions.commands.fork import forked
from runtime.sessions.inbound.arrivals import ShardBacklog, StopRequest
from runtime.sessions.meetings.places import UNANSWERED_IN_PLACES, given_back
from runtime.sessions.node_context import NodeContext
from runtime.sessions.rest import Outcome
from runtime.sessions.session import Session
from runtime.sessions.succession import SessionSuccession
from runtime.stores.inbox import FORK, SESSION_COMMANDS, TASK, Inbox, InboxEntry, InboxEvent, bring
from runtime.stores.orders import refusal
from runtime.stores.sessions import Lease, SessionRecord, is_below_question
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.tasks import OrderTaken

MAX_ATTEMPTS = 3
"""A session that fails this often in a row, without taking an event in between, is not restored again."""

RETRY_S = 1.0
"""Pause before a session that failed is restored, times the number of its attempts."""


class ConversationTask(Struct, eq=False):
    """Feeds the sessions of one conversation. Ends when nothing is going on, or when the shard is lost.

    `broken` says why its session cannot go on: nothing of the program is executed then.
    """

    _shard: int
    _key: str
    _lease: Callable[[], Lease]
    _around: NodeContext
    _inbox: Inbox
    _broken: str | None = None
    backlog: ShardBacklog = field(default_factory=ShardBacklog)
    """The events that no session has taken. `wanted` is sent when its session asks for one, and when it has ended."""
    _attempts: int = 0
    _cause: str = ""
    _session: Session | None = None
    _locked: tuple[SessionId, errors.ContentLocked] | None = None

    @property
    def quiet(self) -> bool:
        """Whether no work is in progress, and nothing waits."""
        return not len(self.backlog) and (self._session is None or self._session.quiet)

    async def come_to_rest(self, within_s: float, written_within_s: float) -> None:
        """Take nothing new but stops; return when the work is finished, at the latest after `within_s`.

        Unfinished work then shows nothing more, and is recorded at the latest after `written_within_s` more.
        """
        self.backlog.hold()
        session = self._session
        if session is None:
            return
        with anyio.move_on_after(within_s):
            await session.until_quiet()
        with anyio.move_on_after(written_within_s), suppress(errors.StorageError):  # the session ends by it
            await session.rest()

    async def run(self, wake: SessionRecord | None) -> bool:
        """Live as long as there is something to do; False when the shard is another node's now.

        `wake` is a session that a restart continues.
        """
        record = wake
        first: InboxEntry | None = None
        succession: SessionSuccession | None = None
        version: Program | None = None
        while True:
            record = record or await self._current()
            if record is None:
                beginning = await self._first()
                if beginning is None:
                    return True
                first, record = beginning.entry, self._new(beginning)
                if first.event.kind == FORK:
                    succession = forked(record, first.event, self._around)
                    record = succession.record
            session, version = self._session_of(record, succession, version), None
            outcome = await self._live(session, first)
            if outcome is None:
                return False
            if outcome is Outcome.REVERTED:
                version = session.in_use.reverts_to
                continue
            succession = None
            if outcome is Outcome.FAILED:
                record, first = await self._after_failure(session)
                continue
            first = None
            if outcome is Outcome.SUCCEEDED and session.successor is not None:
                succession, record = session.successor, session.successor.record
                first, *session.unfinished = session.unfinished
                self.backlog.put_back(session.unfinished)
                continue
            record = await self._kept(session) if outcome is Outcome.STIRRED else None
            self.backlog.put_back(session.unfinished)
            if not len(self.backlog) and record is None:
                return True

    def _session_of(
        self, record: SessionRecord, succession: SessionSuccession | None, version: Program | None
    ) -> Session:
        if record.program not in self._around.programs:
            self._broken = self._around.texts("session.program_gone", program=record.program)
        return Session(record, self._lease, self._around, self._inbox, succession, version)

    async def _after_failure(self, session: Session) -> tuple[SessionRecord | None, InboxEntry | None]:
        """The session that continues after a failure, and the event that it takes first."""
        session.unfinished = list(await self._inbox.still_waiting(session.unfinished))
        if self._locked is not None:
            self.backlog.put_back(session.unfinished)
            return None, None
        await self._put_poison_aside(session)
        record = await self._kept(session)
        first = session.unfinished[0] if session.unfinished and record is not None else None
        self.backlog.put_back(session.unfinished[0 if first is None else 1 :])
        now = self._around.clock.monotonic()
        await self._around.clock.sleep_until(now + RETRY_S * min(self._attempts, MAX_ATTEMPTS))
        return record, first

    async def _current(self) -> SessionRecord | None:
        """The session of this conversation. While its past is not available, messages are put aside, to be replayed; a
        person may start another conversation.
        """
        try:
            record = await self._around.store.current(self._shard, self._key)
            if record is not None and self._locked is not None and record.id == self._locked[0]:
                raise self._locked[1]
        except (errors.ArchiveUnavailable, errors.ContentLocked) as error:
            locked = isinstance(error, errors.ContentLocked)
            text = "content_locked" if locked else "archive_away"
            self._around.bus.publish(
                ContentIsLocked(self._key, str(error)) if locked else ArchiveFailed(str(error), self._key)
            )
            while (entry := self.backlog.take()) is not None and entry.event.kind != "new":
                await self._inbox.discard(entry, self._lease().token, reason=str(error))
                await self._tell(entry, f"session.{text}")
            self.backlog.put_back([] if entry is None else [entry])
            return None
        return record

    async def _first(self) -> Beginning | None:
        """The event that begins a session; of one that needs a session and finds none, who did it is told."""
        while len(self.backlog):
            stop = self.backlog.take_stop()
            if stop is not None:
                await self._stop(stop)
                continue
            entry = await self._done_here()
            task = None if entry is None else session_of(entry.event.address)
            if entry is not None and task and await self._around.store.session(self._shard, task) is not None:
                await self._after_task(entry, task)
                continue
            if entry is None:
                return None
            if not is_of_beginning(entry):
                await self._answered(entry)
            elif not (why := await why_none(entry, self._around.store) or self._objection(entry.event)):
                return Beginning.of(entry)
            else:
                await self._put_aside(entry, why, why, told="fork_lost" if entry.event.kind == FORK else "not_taken")
        return None

    def _objection(self, event: InboxEvent) -> str:
        return next((why for feature in self._around.features if (why := feature.objection(event))), "")

    async def _after_task(self, entry: InboxEntry, task: SessionId) -> None:
        """Deal with what reaches a task after its end: an order that a crash repeated, or a late answer."""
        await self._dismiss(entry)
        if not entry.event.choice:
            return
        async for fact in self._around.store.read_session(task):
            taken = read_as(fact, OrderTaken)
            if taken is not None:
                shown = replace(entry, event=replace(entry.event, place=taken.place))
                await self._tell(shown, "session.question_closed")
                return

    async def _answered(self, entry: InboxEntry) -> None:
        """Deal with an event for which no session begins."""
        for feature in self._around.features:
            with suppress(errors.LeaseLost):  # then the next node does
                if (answer := await feature.answer(entry.event, self._around.texts)) is None:
                    continue
                await self._say(entry, *answer)
                await self._dismiss(entry)
            return
        await self._dismiss(entry)
        if entry.event.kind == "choice":
            await self._tell(entry, "session.question_closed")
        elif (command := SESSION_COMMANDS.get(entry.event.kind)) is not None and command.unanswered is not None:
            await self._say(entry, self._around.texts(command.unanswered), entry.event.asker)

    async def _stop(self, stop: StopRequest) -> None:
        """There is nothing to stop; what was said before is void all the same, unless the stop is for a meeting."""
        if stop.entry.event.place is not None:
            self.backlog.put_back(stop.passed)
            await self._from_a_place(stop.entry)
            return
        for void in stop.entries:
            await self._dismiss(void)
        await self._say(stop.entry, self._around.texts("session.nothing_runs"), stop.entry.event.asker)

    async def _done_here(self) -> InboxEntry | None:
        """The oldest event that waits and was not done in the place of a meeting; those are dealt with."""
        while (entry := self.backlog.take()) is not None and entry.event.place is not None:
            await self._from_a_place(entry)
        return entry

    async def _from_a_place(self, entry: InboxEntry) -> None:
        """Begin a new session in a place that nobody needs, which is a conversation like any other."""
        store = self._around.places
        if store is None or entry.event.place is None:
            await self._dismiss(entry)
            return
        if entry.event.kind == "new":
            if not await given_back(entry.event, store, self._inbox):
                await self._say(entry, self._around.texts("inbound.full"), entry.event.asker)
        elif entry.event.kind not in UNANSWERED_IN_PLACES:
            what = (
                "question_thread_closed" if await is_below_question(entry.event.place, store) else "meeting_place_over"
            )
            alone = entry.event.asker if entry.event.kind in SESSION_COMMANDS else ""
            await self._say(entry, self._around.texts(f"session.{what}"), alone)
        await self._dismiss(entry)

    async def _dismiss(self, entry: InboxEntry) -> None:
        """It is done with: what needs a session and finds none is told about, and no dead letter."""
        await self._inbox.dismiss(entry, self._lease().token)

    async def _tell(self, entry: InboxEntry, key: str) -> None:
        """Say a text of ours that belongs to no session; it may be lost in a crash."""
        await self._say(entry, self._around.texts(key))

    async def _say(self, entry: InboxEntry, text: str, alone: str = "") -> None:
        event = entry.event
        place, home = event.place or event.address, event.place and event.address
        spec = PageSpec(uuid.uuid4().hex, place, GATEWAY, home=home, alone=alone)
        await show_once(self._around.outbox, spec, text)

    def _new(self, beginning: Beginning) -> SessionRecord:
        id_, address = beginning.session or SessionId(uuid.uuid4().hex), beginning.entry.event.address
        return SessionRecord(id_, address, beginning.program, self._around.clock.now(), seq=0)

    async def _live(self, session: Session, first: InboxEntry | None) -> Outcome | None:
        """Run a session; None when this conversation is no longer ours."""
        before, succeeds = len(self.backlog), session.record.parent is not None and not session.stored
        outcome: Outcome | None = Outcome.FAILED
        self._session = session
        try:
            outcome = await session.run(self.backlog, first, self._broken)
        except* errors.LeaseLost as refused:
            outcome = None
            # Another node has the shard: what this session wanted to write was refused.
            self._around.bus.publish(SessionFenced(session.record.id, self._key, str(_leaves(refused)[0])))
        except* Exception as group:  # noqa: BLE001 - a bug in one session must not end the others
            self._failed(session, group, calm=len(self.backlog) == before and not (succeeds and session.stored))
        if outcome not in (None, Outcome.FAILED, Outcome.REVERTED):
            self._broken = None
            if outcome is not Outcome.SUCCEEDED:  # whether that was an end is seen when the successor lives
                self._attempts = 0
        return outcome

    async def _kept(self, session: Session) -> SessionRecord | None:
        """The session that a failed one continues; None when it was deleted meanwhile, or a new one is wanted."""
        if not session.stored:
            return session.record if session.unfinished and session.record.parent is None else None
        try:
            record = await self._around.store.session(self._shard, session.record.id)
        except errors.ArchiveUnavailable:
            return None  # it was moved there while it was in memory; that is told as for one that was not
        if record is None:
            self._attempts, self._broken = 0, None
        return record

    async def _put_poison_aside(self, session: Session) -> None:
        """An event that even a session which only says why it cannot go on fails at is the cause, and put aside."""
        if self._attempts <= MAX_ATTEMPTS or not session.unfinished:
            return
        entry = session.unfinished.pop(0)
        reason = f"the session failed {self._attempts} times at it: {self._cause}"
        self._attempts, self._broken = 0, None
        with suppress(errors.LeaseLost):  # the shard's next node finds it in the inbox
            await self._put_aside(entry, reason, self._cause)
            record = await self._around.store.session(self._shard, session.record.id) or session.record
            for feature in self._around.features:
                await feature.put_aside(entry.event, record, self._cause)

    async def _put_aside(self, entry: InboxEntry, reason: str, error: str, *, told: str = "not_taken") -> None:
        """Keep an event that no session takes among the dead letters, and tell who sent it."""
        if entry.event.kind == TASK:
            why = self._around.texts("session.task_not_taken", error=error)
            answer = refusal(entry.event, why, self._around.clock.now())
            if answer is not None:
                await bring(answer, self._inbox, self._around.clock)
        await self._inbox.discard(entry, self._lease().token, reason=reason)
        if entry.event.kind != TASK:
            await self._tell(entry, f"session.{told}")

    def _failed(self, session: Session, group: BaseExceptionGroup[Any], *, calm: bool) -> None:
        """Write a failure down; after too many the session only says why it cannot go on."""
        leaves = _leaves(group)
        cause = next((e for e in leaves if isinstance(e, errors.JournalError)), leaves[0])
        self._around.bus.publish(SessionFailed(session.record.id, self._key, repr(cause), cause))
        locked = next((error for error in leaves if isinstance(error, errors.ContentLocked)), None)
        if locked is not None:
            self._locked = (session.record.id, locked)
            return
        if all(isinstance(error, errors.StorageUnavailable) for error in leaves):
            self._attempts = max(self._attempts, 1)  # no session is to blame for that
            return
        self._attempts, self._cause = self._attempts + 1 if calm else 1, shortened(repr(cause), MAX_ERROR_CHARS)
        if isinstance(cause, errors.JournalError):
            self._broken = self._around.texts("session.broken", error=error_text(cause))
        elif self._attempts >= MAX_ATTEMPTS:
            self._broken = self._around.texts("session.failed")


def _leaves(group: BaseException) -> list[BaseException]:
    if isinstance(group, BaseExceptionGroup):
        return [leaf for inner in group.exceptions for leaf in _leaves(inner)]
    return [group]
