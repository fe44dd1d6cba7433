"""Permanent deletion of a session, or of everything stored about a person; and retention of sessions, archiving and
deleting, by a plan that can be read before it is carried out.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct

from gateway.jobs.runner import Job, every
from gateway.settings.operation import RetentionSettings
from runtime.bus import Bus
from runtime.core.address import Address, session_of, threads_below
from runtime.core.clock import Clock
from runtime.core.errors import ArchiveUnavailable, ContentLocked, SessionBusy
from runtime.core.ids import SessionId
from runtime.events.service import ArchiveFailed, SessionsRetired
from runtime.stores.archive import PutsAway, files_of
from runtime.stores.catalog import KnownSession, PersonKeys, PersonTraces, SessionCatalog, busy_session
from runtime.stores.sessions import PlaceStore
from runtime.tape.facts.frames import QuestionAsked, QuestionAskedAgain
from runtime.tape.facts.meetings import MeetingPlaced
from runtime.tape.facts.people import MessageHeard, PageBegun, PartSent, PeopleQuoted, PersonMet
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.tasks import OrderTaken, TaskAsks
from runtime.tape.tape import UNREADABLE, Fact, TapeStore, opened, session_tape

INTERVAL = timedelta(hours=6)
"""The time between two runs of the job. Chosen: rules are in days."""

_AT_ONCE = 200
"""The number of sessions deleted together, since references by others are looked up once for all of them."""

_Doing = Literal["archive", "delete"]

_InRoom = Callable[[Address], bool]
"""Whether a conversation is in a room that Parley keeps itself."""


class ErasedData(Struct, frozen=True):
    """The deleted data: sessions by id, and the number of other entries. `rewritten`: the server's file was rewritten
    as well.
    """

    sessions: tuple[SessionId, ...]
    entries: int
    rewritten: bool


class _Part(Struct, frozen=True):
    """What a person has to do with a session: whether they took part, and were alone in it, in private, and their names
    there. `orderer` is the session that ordered it, where it is a task.
    """

    took_part: bool
    alone: bool
    names: set[str]
    orderer: SessionId | None


class _Task(Struct, frozen=True):
    """The session of a task, and the session that ordered it."""

    known: KnownSession
    orderer: SessionId


class SessionErasure(Struct, frozen=True):
    """Deletes sessions with what was said in them. Every method can be called again after it was broken off.

    Raises SessionBusy before anything was deleted, ContentLocked where nobody can see whether a person is in it, and
    StorageUnavailable.
    """

    catalog: SessionCatalog
    tapes: TapeStore
    traces: PersonTraces
    places: PlaceStore
    in_room: _InRoom

    async def sessions(self, sessions: Iterable[SessionId], *, force: bool = False) -> int:
        """Delete sessions, their messages in Parley's rooms, and the files that no other session has; returns the
        number of sessions.
        """
        found = [known for id_ in sessions if (known := await self.catalog.find(id_)) is not None]
        _refuse_busy(found, force)
        files = await self._delete_all(found, force)
        await self._forget_files(files)
        if found:
            await self.traces.rewrite()
        return len(found)

    async def person(self, person: str, *, force: bool = False) -> ErasedData:
        """Delete every session in which the person took part, even with others, the tasks that these ordered, and all
        data that names the person.

        A session that continues such a session has the person's words as well, if they came before its branch.
        """
        theirs, conversations, names, tasks = [], set(), set[str](), list[_Task]()
        async for known in self.catalog.sessions():
            part = await self._part(known, person)
            names |= part.names
            if part.took_part:
                theirs.append(known)
                conversations |= {known.record.address.key} if part.alone else set()
            if part.orderer is not None:
                tasks.append(_Task(known, part.orderer))
        ordered = _ordered_by(theirs, tasks)
        theirs += ordered
        conversations |= {task.record.address.key for task in ordered}
        _refuse_busy(theirs, force)
        files = await self._delete_all(theirs, force)
        await self._forget_files(files)
        gone = [known.record.id for known in theirs]
        whose = PersonKeys(person, frozenset(conversations), frozenset(gone), frozenset(names))
        entries = await self.traces.person(whose)
        rewritten = await self.traces.rewrite()
        return ErasedData(tuple(gone), entries, rewritten)

    async def _part(self, known: KnownSession, person: str) -> _Part:
        people, names, private, orderer = set[str](), set[str](), False, None
        told_by = session_tape(known.record.id)
        async for found in self._facts(known) if known.record.archived else self.tapes.read_tape(told_by):
            fact = opened(found)
            if (met := read_as(fact, PersonMet)) is not None:
                people.add(met.id)
                names |= {met.name} if met.id == person else set()
            elif (quoted := read_as(fact, PeopleQuoted)) is not None:
                people |= set(quoted.people)
            elif (heard := read_as(fact, MessageHeard)) is not None:
                private = private or heard.private
            elif (order := read_as(fact, OrderTaken)) is not None:
                orderer = order.orderer
            elif fact.kind == UNREADABLE and re.search(rf"(?<![\w-]){re.escape(person)}(?![\w-])", str(fact.data)):
                people.add(person)
        return _Part(person in people, private and people == {person}, names, orderer)

    async def _facts(self, known: KnownSession) -> AsyncIterator[Fact]:
        if not known.record.archived:
            async for fact in self.tapes.read_session(known.record.id):
                yield fact
            return
        whole = await self.catalog.whole(known.record.id)
        for fact in whole.facts if whole is not None else ():
            yield fact

    async def _delete_all(self, doomed: list[KnownSession], force: bool) -> set[str]:
        """Delete sessions; returns the ids of their files."""
        ids = {known.record.id for known in doomed}
        successors = {known.record.id: await self._successor(known) for known in doomed}
        files: set[str] = set()
        # Forks first: no deleted session hands its facts to one that is deleted later.
        for known in sorted(doomed, key=lambda one: one.record.started_at, reverse=True):
            successor = successors[known.record.id]
            lives = successor is not None and successor.record.id not in ids
            files |= await self._delete(known, successor if lives else None, force)
        return files

    async def _successor(self, known: KnownSession) -> KnownSession | None:
        """The session that has replaced a session, directly or through others."""
        found: KnownSession | None = known
        while found is not None and found.record.replaced_by is not None:
            found = await self.catalog.find(found.record.replaced_by)
        return None if found is known else found

    async def _delete(self, known: KnownSession, successor: KnownSession | None, force: bool) -> set[str]:
        """Delete one session; returns the ids of its files.

        Its messages go first, since only its tapes name them. Messages from before its branch belong to the session
        that it continues, and those that its successor has stay with the successor.
        """
        session, address, parent = known.record.id, known.record.address, known.record.parent
        messages: dict[str, None] = {}
        files: set[str] = set()
        places: list[Address] = []
        asks: set[str] = set()
        async for fact in self._readable(known):
            if parent is None or fact.seq > parent.seq:
                messages |= dict.fromkeys(_messages(fact))
            files |= set(files_of([fact]))
            begun = read_as(fact, PageBegun)
            places += [] if begun is None or begun.place is None else [begun.place]
            placed = read_as(fact, MeetingPlaced)
            places += [] if placed is None else [placed.place]
            asked = read_as(fact, TaskAsks)
            places += [] if asked is None else threads_below(address, asked.messages)
            question = read_as(fact, QuestionAsked) or read_as(fact, QuestionAskedAgain)
            asks |= set() if question is None else {question.page}
            sent = read_as(fact, PartSent)
            places += [] if sent is None or sent.page not in asks else threads_below(address, [sent.platform_id])
        rooms = {one.conversation for one in (address, *places) if self.in_room(one)}
        if rooms and successor is not None:
            messages = await self._without_those_of(successor, messages)
        for room in sorted(rooms):
            await self.traces.messages(room, list(messages))
        for place in places:
            await self.places.release(place, session)
        for said_in in (address, *places):
            await self.traces.said(said_in)
        await self.catalog.delete(session, force=force)
        return files

    async def _readable(self, known: KnownSession) -> AsyncIterator[Fact]:
        """The facts of a session, as far as they can be decrypted."""
        with suppress(ContentLocked):
            async for fact in self._facts(known):
                yield fact

    async def _without_those_of(self, known: KnownSession, messages: dict[str, None]) -> dict[str, None]:
        """The messages that a session does not have; none if its messages cannot be read."""
        try:
            kept = {message async for fact in self._facts(known) for message in _messages(opened(fact))}
        except ContentLocked:
            return {}
        return {message: None for message in messages if message not in kept}

    async def _forget_files(self, files: set[str]) -> None:
        """Delete files, except those that another session refers to."""
        if not files:
            return
        try:
            async for known in self.catalog.sessions():
                async for fact in self._facts(known):
                    files -= set(files_of([opened(fact)]))
        except ContentLocked:
            return  # nobody can see whether that session refers to them
        await self.traces.files(files)


def _ordered_by(theirs: Iterable[KnownSession], tasks: Iterable[_Task]) -> list[KnownSession]:
    """The tasks that these sessions ordered, and the tasks of these: they have words of the sessions as arguments."""
    doomed = {known.record.id for known in theirs}
    found: list[KnownSession] = []
    left = [task for task in tasks if task.known.record.id not in doomed]
    while more := [task for task in left if task.orderer in doomed]:
        found += [task.known for task in more]
        doomed |= {task.known.record.id for task in more}
        left = [task for task in left if task.known.record.id not in doomed]
    return found


def _refuse_busy(known: Iterable[KnownSession], force: bool) -> None:
    for one in known:
        if one.busy and not force:
            raise busy_session(one.record.id, one.node)


def _messages(fact: Fact) -> list[str]:
    """The ids on the platform that a fact names. A room that was opened starts with a message named like the
    opening.
    """
    placed = read_as(fact, MeetingPlaced)
    began = None if placed is None else placed.nonce
    found = [fact.data.get("pid"), began, *(fact.data.get("parts") or {}).values()]
    return [pid for pid in found if isinstance(pid, str)]


class RetentionStep(Struct, frozen=True):
    """The action for one session, and the setting that demands it."""

    session: KnownSession
    doing: _Doing
    rule: str


class RetentionResult(Struct):
    """The numbers of archived and deleted sessions; `left` were busy, or others continue them."""

    archived: int = 0
    deleted: int = 0
    left: int = 0


class RetentionRules(Struct, frozen=True):
    """Applies the rules of the settings. `cold` is None where there is no archive: then nothing is archived.

    Raises ArchiveUnavailable and StorageUnavailable; what was done until then is done, and the rest is found again.
    """

    catalog: SessionCatalog
    cold: PutsAway | None
    erasure: SessionErasure
    rules: RetentionSettings
    clock: Clock

    async def plan(self) -> AsyncIterator[RetentionStep]:
        """The actions that are due now, in no order. Reads every session and changes nothing."""
        now = self.clock.now()
        async for known in self.catalog.sessions():
            step = self._step(known, now)
            if step is not None:
                yield step

    async def apply(self) -> RetentionResult:
        done = RetentionResult()
        doomed: list[RetentionStep] = []
        async for step in self.plan():
            if step.doing == "delete":
                doomed.append(step)
            elif self.cold is not None and await self.cold.put_away(step.session.record.id):
                done.archived += 1
            else:
                done.left += 1
        for first in range(0, len(doomed), _AT_ONCE):
            await self._delete(doomed[first : first + _AT_ONCE], done)
        return done

    def job(self, bus: Bus) -> Job:

        async def run(_due: datetime) -> None:
            try:
                done = await self.apply()
            except ArchiveUnavailable as error:
                bus.publish(ArchiveFailed(str(error)))
                raise
            if done.archived or done.deleted:
                bus.publish(SessionsRetired(done.archived, done.deleted, done.left))

        return every("retention", INTERVAL, run)

    async def _delete(self, steps: list[RetentionStep], done: RetentionResult) -> None:
        ids = [step.session.record.id for step in steps]
        try:
            done.deleted += await self.erasure.sessions(ids)
        except SessionBusy:
            for id_ in ids:
                try:
                    done.deleted += await self.erasure.sessions([id_])
                except SessionBusy:
                    done.left += 1

    def _step(self, known: KnownSession, now: datetime) -> RetentionStep | None:
        rules, idle = self.rules, now - known.last_at
        if known.state == "working":
            return None
        if _over(idle, rules.delete_after_days):
            return RetentionStep(known, "delete", "retention.delete_after_days")
        if known.record.ended and session_of(known.record.address) is not None and _over(idle, rules.tasks_days):
            return RetentionStep(known, "delete", "retention.tasks_days")
        if known.record.replaced_by is not None:
            over = _over(idle, rules.replaced_days)
            return RetentionStep(known, "delete", "retention.replaced_days") if over else None
        if known.state != "archived" and self.cold is not None and _over(idle, rules.archive_after_days):
            return RetentionStep(known, "archive", "retention.archive_after_days")
        return None


def _over(idle: timedelta, days: float) -> bool:
    return days > 0 and idle > timedelta(days=days)
