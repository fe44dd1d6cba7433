"""A program running in a conversation: restored from its tapes, fed from its inbox, until it ends or rests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum, auto
from typing import Any

import anyio
from anyio.abc import TaskGroup

from runtime.agents.library import Library
from runtime.agents.supervisor import Supervisor, begins
from runtime.core.errors import TapeConflict
from runtime.execution.builtins import Builtins
from runtime.execution.files import FileCalls
from runtime.execution.host import Host
from runtime.execution.interpreter import Machine
from runtime.execution.questions import Questions
from runtime.execution.speech import Pages
from runtime.execution.triggers import VariableRules
from runtime.language.program import AgentKind
from runtime.sessions.backlog import Backlog, Stop
from runtime.sessions.inbox import InboxEntry, InboxEvent
from runtime.sessions.intake import Intake, message_of
from runtime.sessions.snapshots import Snapshots
from runtime.sessions.store import Commit, Lease, SessionRecord
from runtime.sessions.surroundings import Surroundings
from runtime.tape.journal import Batch, Journal


class Outcome(Enum):
    """Why a session left memory."""

    ENDED = auto()
    """The program has ended; the conversation is free."""
    RENEWED = auto()
    """Somebody asked for a new session; the asking entry is still in the inbox."""
    RESTING = auto()
    """Nothing is going on; the next event brings it back."""
    FAILED = auto()
    """An error ended it; it can be restored from its tapes."""


class Session:
    """One session in memory. `lease` is asked at every commit, so a lost shard ends it."""

    def __init__(self, record: SessionRecord, lease: Callable[[], Lease], around: Surroundings) -> None:
        self.record = record
        self._lease = lease
        self._around = around
        self._program = around.program(record.program)
        self._journal = Journal(record.id, around.clock, self._write)
        self._snapshots = Snapshots(around.store, record.id, lease, self._journal)
        self._broken: str | None = None
        self.stored = record.seq > 0
        """Whether the store has it."""
        self.unfinished: list[InboxEntry] = []
        """The events that were being taken when the session ended, for the next one to take."""
        self._supervisor: Supervisor
        self._pages: Pages
        self._builtins: Builtins
        self._intake: Intake

    async def _write(self, batch: Batch) -> None:
        await self._around.store.commit(
            Commit(
                lease=self._lease(),
                session=self.record.id,
                expect=batch.expect,
                facts=batch.facts,
                consume=batch.consume,
                outbox_add=batch.outbox_add,
                outbox_done=batch.outbox_done,
                awake=batch.awake,
                begin=replace(self.record, seq=0) if batch.expect == 0 else None,
                end=batch.ended,
            )
        )
        self.stored = True

    async def run(self, backlog: Backlog, first: InboxEntry | None, broken: str | None) -> Outcome:
        """Live until the program ends, a new session is asked for, or nothing happens for a while.

        `first` begins a session that has no tape yet, and is the first thing that a restored one takes. `broken` says
        why its program cannot go on: then every message is answered with that. Raises an exception group of what ended
        it against its will.
        """
        self._broken = broken
        outcome = Outcome.RESTING
        async with anyio.create_task_group() as tasks:
            await self._around.servers.ready(self._program)
            self._build(tasks)
            with self._showing():
                tasks.start_soon(self._journal.run)
                tasks.start_soon(self._snapshots.run)
                self.unfinished = [] if first is None else [first]
                await self._restore()
                tasks.start_soon(self._obey_stops, backlog)
                if first is not None and not self._journal.state.started:
                    await self._begin(first)
                    first = None
                elif self._broken is not None and first is None and not len(backlog):
                    self._pages.tell(self._say("trouble", error=self._broken))
                outcome = await self._serve(backlog, first)
                tasks.cancel_scope.cancel()
        return outcome

    @contextmanager
    def _showing(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._pages.let_go()

    def _build(self, tasks: TaskGroup) -> None:
        around, journal = self._around, self._journal
        pages = self._pages = Pages(journal, around.outbox, self.record.address, tasks, around.bus, around.texts)
        supervisor = self._supervisor = Supervisor(self._program, journal, pages, tasks, around.clock, around.bus)
        builtins = self._builtins = Builtins(journal, pages, supervisor, supervisor, around.clock, around.bus)
        questions = Questions(journal, pages, builtins)
        busy = around.busy.get(self.record.program, "queue")
        intake = self._intake = Intake(journal, supervisor, pages, questions, busy)
        journal.watch = intake.noted
        calls = {**builtins.table(), **questions.table(), **supervisor.calls()}
        if around.files is not None:
            calls |= FileCalls(journal, pages, self.record.address, around.files).table()
        host = Host(journal, pages, supervisor, tasks, calls)
        journal.busy = host.busy
        machine = Machine(
            self._program,
            journal,
            host,
            builtins,
            pages,
            around.sandbox,
            around.llm,
            around.clock,
            around.bus,
            may_ask=lambda person: around.allowance(self.record.address, person),
            steers=busy == "steer",
            servers=around.servers,
        )
        supervisor.equip(Library(self._program, machine, supervisor), host)
        agents = {spec.name: spec for spec in self._program.agents}
        builtins.on_variable = VariableRules(agents, journal, host, supervisor).updated

    async def _restore(self) -> None:
        await self._snapshots.restore()
        if self._journal.state.seq == 0:
            if self.stored:
                raise TapeConflict(f"Session {self.record.id} was deleted.", expected=self.record.seq, actual=0)
            return
        self._journal.note("wake")
        self._pages.repair()
        if self._journal.state.ended:
            self._builtins.ended.set()
        elif self._broken is not None:
            self._journal.note("broken", why=self._broken)
        else:
            self._supervisor.restore()
            self._intake.restore()
        self._publish("session.restored")

    async def _begin(self, entry: InboxEntry) -> None:
        program, event = self._program, entry.event
        self._consume(entry)
        self._journal.note("begin", program=program.digest)
        self._note_person(event)
        begun = any(begins(spec) for spec in program.agents if spec.kind is AgentKind.AI)
        self._supervisor.start(message_of(event, None) if begun else None)
        if self._broken is not None:
            await self._supervisor.tell("session.trouble", error=self._broken)
        elif begun:
            self._intake.heard(event, self._supervisor.recipient(event.text, None))
        elif event.kind == "message":
            await self._hear(event)
        else:
            await self._supervisor.tell("session.ready", program=program.name)
        await self._taken(entry)
        self._publish("session.started")

    async def _serve(self, backlog: Backlog, first: InboxEntry | None) -> Outcome:
        heard: Outcome | None = None
        async with anyio.create_task_group() as tasks:

            async def watch_end() -> None:
                await self._builtins.ended.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch_end)
            heard = await self._listen(backlog, first)
            tasks.cancel_scope.cancel()
        if heard is not Outcome.RESTING:
            self._intake.ended()
        await self._pages.all_shown()
        await self._journal.commit()
        return heard or Outcome.ENDED

    async def _listen(self, backlog: Backlog, first: InboxEntry | None) -> Outcome:
        entry = first
        while True:
            if entry is not None:
                if entry is not first:
                    self.unfinished.append(entry)
                if self._journal.state.ended:
                    return Outcome.ENDED
                if entry.event.kind == "new":
                    await self._builtins.end(wanted=True)
                    return Outcome.RENEWED
                await self._take(entry)
                entry = None
            with anyio.move_on_after(self._around.idle_s):
                entry = await backlog.receive()
            if entry is None and not self._journal.restless() and not self._pages.unfinished and not len(backlog):
                return Outcome.RESTING

    async def _take(self, entry: InboxEntry) -> None:
        event = entry.event
        self._note_person(event)
        self._consume(entry)
        if event.kind == "stop":
            await self._stop(Stop(entry))
        elif event.kind == "status":
            await self._supervisor.say(self._status())
        elif event.kind == "who":
            await self._supervisor.say(self._who())
        elif event.kind == "start":
            await self._supervisor.tell("session.already")
        elif self._broken is not None:
            await self._supervisor.tell("session.trouble", error=self._broken)
        else:
            await self._hear(event)
        await self._taken(entry)

    async def _obey_stops(self, backlog: Backlog) -> None:
        """A stop waits for nothing: neither for what was said before it, nor for the store."""
        while True:
            stop = await backlog.receive_stop()
            self.unfinished += stop.entries
            if self._journal.state.ended:
                continue
            for entry in stop.entries:
                self._consume(entry)
            self._note_person(stop.entry.event)
            await self._stop(stop)
            await self._taken(*stop.entries)

    async def _stop(self, stop: Stop) -> None:
        busy, unread = await self._supervisor.stop()
        self._intake.stopped(unread, [entry.event for entry in stop.passed])
        stopped = busy or unread or stop.passed
        self._pages.tell(self._say("stopped" if stopped else "nothing_runs"))

    def _consume(self, entry: InboxEntry) -> None:
        """Take `entry` out of the inbox with the commit that carries what it leads to."""
        self._journal.consume(entry.entry_id)

    async def _taken(self, *entries: InboxEntry) -> None:
        await self._journal.commit()
        self.unfinished = [entry for entry in self.unfinished if entry not in entries]

    def _say(self, key: str, **values: object) -> str:
        return self._around.texts(f"session.{key}", **values)

    def _note_person(self, event: InboxEvent) -> None:
        if self._journal.state.people.get(event.person_id) != event.person_name:
            self._journal.note("person", id=event.person_id, name=event.person_name)
        for file in event.attachments:
            size = file.get("size_bytes")
            self._journal.note("file", name=file["name"], type=file["media_type"], url=file["url"], size=size)

    async def _hear(self, event: InboxEvent) -> None:
        await self._intake.take(event)
        if event.kind in ("message", "edit"):
            self._publish("message.received", message_id=f"in.{event.id}", participant_id=event.person_id)

    def _status(self) -> str:
        state = self._journal.state
        lines = [self._say("status", program=self._program.name, model=self._around.llm.model)]
        for agent in state.agents.values():
            stack = [f.playbook for f in state.frames.values() if f.agent == agent.id]
            doing = " → ".join(stack) or self._say("status_idle")
            lines.append(self._say("status_agent", agent=agent.klass, number=agent.id, doing=doing))
        return "\n".join(lines)

    def _who(self) -> str:
        state = self._journal.state
        people = [self._say("who_person", name=name) for name in state.people.values()]
        agents = [self._say("who_agent", agent=agent.klass, number=agent.id) for agent in state.agents.values()]
        return "\n".join([*people, *agents])

    def _publish(self, name: str, **data: Any) -> None:
        self._around.bus.publish(name, session_id=self.record.id, conversation=self.record.address.key, **data)
