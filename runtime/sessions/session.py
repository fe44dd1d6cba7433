"""A program running in a conversation: restored from its tapes, fed from its inbox, until it ends or rests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import anyio

from runtime.agents.loops import begins
from runtime.core.background import OnDemand, WakeSignal
from runtime.core.errors import CommandRefused, TapeConflict
from runtime.events.sessions import SessionRestored, SessionStarted
from runtime.events.talk import MessageReceived
from runtime.language.pbasm.versions import outline
from runtime.language.program import AgentKind, Program
from runtime.sessions.assembly import assembled
from runtime.sessions.beginning import why_none
from runtime.sessions.inbound.arrivals import ShardBacklog, StopRequest, message_of
from runtime.sessions.node_context import NodeContext
from runtime.sessions.program_in_use import ProgramInUse, news_of, trouble_of
from runtime.sessions.rest import Outcome, SessionRest, Snapshots
from runtime.sessions.succession import SessionSuccession
from runtime.stores.inbox import FORK, FORK_WANTED, PARTICIPANT, SESSION_COMMANDS, TASK, Inbox, InboxEntry, InboxEvent
from runtime.stores.sessions import Commit, Lease, SessionRecord
from runtime.tape.facts.session import NewsTold, ProgramBroken, SessionBegun, SessionLoaded
from runtime.tape.journal import CommitBatch, Journal

SETTLED_WITHIN_S = 20.0
"""How long a session that is succeeded waits for its platform; what people do not see by then they never see."""


class Session:
    """One session in memory. `lease` is asked at every commit, so a lost shard ends it."""

    def __init__(
        self,
        record: SessionRecord,
        lease: Callable[[], Lease],
        around: NodeContext,
        inbox: Inbox,
        succession: SessionSuccession | None = None,
        version: Program | None = None,
    ) -> None:
        """`succession` says how a session that the store does not have continues its parent. `version` stands in for
        the program as it is served now."""
        self.record = record
        self._lease = lease
        self._around = around
        self._inbox = inbox
        self._succession = succession
        self.in_use = ProgramInUse(around, record.program, version)
        self._program = self.in_use.program
        self._journal = Journal(record.id, around.clock, self._write, seen=around.habits.seen)
        origin = None if succession is None else record.parent
        self._rest = SessionRest(record, lease, around, self._journal)
        self._snapshots = Snapshots(around.store, record, lease, self._journal, origin)
        self._broken: str | None = None
        self.stored = succession is None and record.seq > 0
        """Whether the store has it."""
        self.successor: SessionSuccession | None = None
        """What goes on in its place, where it was succeeded."""
        self.unfinished: list[InboxEntry] = []
        """The events that were being taken when the session ended, for the next one to take."""
        self._listening = self._spoken_with = False
        self._written = WakeSignal()
        self._idle = anyio.CancelScope()
        self._tasks = anyio.create_task_group()
        self._parts = assembled(record, self._program, self._journal, self._tasks, around, inbox, lambda: self._broken)

    async def _write(self, batch: CommitBatch) -> None:
        begun_from = None if self.stored else self._succession
        commit = Commit(
            lease=self._lease(),
            session=self.record.id,
            expect=batch.expect,
            facts=batch.facts,
            consume=batch.consume,
            outbox_add=batch.outbox_add,
            outbox_done=batch.outbox_done,
            awake=batch.awake,
            begin=None if self.stored else replace(self.record, seq=batch.expect),
            end=batch.ended,
            replaces=None if begun_from is None else begun_from.replaces,
            taken_in=self.record.taken_in if begun_from is None else begun_from.taken_in,
            events=batch.events,
        )
        await self._around.store.commit(commit)
        self.stored = True
        self._note_written()

    def _note_written(self) -> None:
        self._written.send()
        if self.quiet:
            self._around.resting.begin(self.record.id, lambda: self._idle.cancel())
        else:
            self._around.resting.end(self.record.id)

    @property
    def quiet(self) -> bool:
        """Whether no work is in progress: it waits for people, and they see everything that it has to show."""
        return self._listening and not (
            self.unfinished or self._journal.pending or self._journal.restless() or self._parts.pages.unfinished
        )

    async def until_quiet(self) -> None:
        while not self.quiet:
            await self._written.wait()

    async def rest(self) -> None:
        """Show nothing more; return when what is on its way to a platform was answered, and all is written down."""
        if self._listening:
            await self._parts.pages.rest()
            await self._journal.commit()

    async def run(self, backlog: ShardBacklog, first: InboxEntry | None, broken: str | None) -> Outcome:
        """Live until the program ends, a new session is asked for, or nothing happens for a while.

        `first` begins a session that has no tape yet, and is the first thing that a restored one takes. `broken` says
        why its program cannot go on: then every message is answered with that. Raises an exception group of what ended
        it against its will.
        """
        self._broken = broken
        outcome = Outcome.RESTING
        async with self._tasks as tasks:
            await self._around.tools.servers.ready(self._program)
            with self._showing():
                self._journal.start(tasks)
                self._snapshots.start(tasks)
                self.unfinished = [] if first is None else [first]
                await self._restore(first)
                if self.in_use.reverts_to is not None:
                    tasks.cancel_scope.cancel()
                    return Outcome.REVERTED
                # a stop waits neither for what came before, nor the store
                obeying = OnDemand(lambda: self._stop(backlog))
                backlog.on_stop = obeying.wake
                obeying.start(tasks)
                obeying.wake()
                self._parts.start(tasks)
                for go_on in self._parts.going_on if self._broken is None else ():
                    go_on(tasks)
                if first is not None and self._succession is not None:
                    await self._taken(first)
                    first = None
                elif first is not None and not self._journal.state.started:
                    await self._begin(first)
                    first = None
                elif self._broken is not None and first is None and not len(backlog):
                    self._parts.pages.tell(self._trouble())
                outcome = await self._serve(backlog, first)
                tasks.cancel_scope.cancel()
        return await self._rest.begin() if outcome is Outcome.RESTING else outcome

    @contextmanager
    def _showing(self) -> Iterator[None]:
        try:
            yield
        finally:
            self._around.resting.end(self.record.id)
            self._parts.pages.let_go()
            self._journal.leave()
            if self._parts.watcher is not None:
                self._parts.watcher.left()

    async def _restore(self, first: InboxEntry | None) -> None:
        await self._snapshots.restore()
        if self._succession is not None and self._journal.state.seq != self.record.seq:
            raise TapeConflict(
                f"The session that {self.record.id} continues is gone.",
                expected=self.record.seq,
                actual=self._journal.state.seq,
            )
        if self._journal.state.seq == 0:
            if self.stored:
                raise TapeConflict(f"Session {self.record.id} was deleted.", expected=self.record.seq, actual=0)
            return
        await self._rest.end()
        self.stored = self.stored or self._succession is None
        if not self._journal.at_work():
            self._journal.rested = self._journal.state.seq
        if self._succession is not None:
            self._journal.note(self._succession.fact)
        self._journal.note(SessionLoaded())
        await self._parts.restored(self._succession)
        self._parts.pages.repair()
        if self._succession is not None and first is not None:
            self._go_on(self._succession, first)
        if self._broken is None and not self._journal.state.ended:
            await self.in_use.take_up(self._journal.state.program, self._parts.continuity)
        if self.in_use.reverts_to is None:
            await self._resume()

    async def _resume(self) -> None:
        if self._journal.state.ended:
            self._parts.loops.restore()  # for what was said to other processes
        elif self._broken is not None:
            await self._parts.pages.close_all()
            self._journal.note(ProgramBroken(self._broken))
        else:
            self._parts.loops.restore()
            self._parts.continuity.dismiss()
            self._parts.event_handler.restore()
        self._around.bus.publish(SessionRestored(*self._where))

    def _go_on(self, succession: SessionSuccession, first: InboxEntry) -> None:
        """Begin where another session stood: all of it is for the commit that makes it so."""
        self._consume(first)
        self._parts.arrivals.meet(first.event)
        self._parts.undo.begin(succession)
        if self._broken is None:
            self._parts.questions.ask_again()

    async def _begin(self, entry: InboxEntry) -> None:
        program, event = self._program, await self._parts.arrivals.prepare(entry.event)
        self._spoken_with = True
        self._journal.note(SessionBegun(program.digest, outline(program), private=event.private))
        self._parts.arrivals.meet(event)
        self._consume(entry, event)
        if event.kind == TASK and (part := await self._parts.concerned(event)) is not None:
            await part.take_own(event)
            await self._taken(entry)
            return
        if event.kind == "message" or event.text:
            self._parts.event_handler.begun(event, 0)
        begun = any(begins(spec) for spec in program.agents if spec.kind is AgentKind.AI)
        self._parts.loops.start(message_of(event, None, self._journal.state) if begun else None)
        if self._broken is not None:
            self._parts.pages.tell(self._trouble())
        elif begun:
            self._tell_received(event)
            self._parts.event_handler.heard(event)
        elif event.kind == "message":
            await self._hear(event, 0)
        else:
            self._parts.pages.tell(self._around.texts("session.ready", program=program.name))
        await self._taken(entry)
        self._around.bus.publish(SessionStarted(*self._where))

    async def _serve(self, backlog: ShardBacklog, first: InboxEntry | None) -> Outcome:
        heard: Outcome | None = None
        with anyio.CancelScope() as listening:
            self._parts.builtins.ended.subscribe(lambda _: listening.cancel())
            if self._journal.state.ended:
                listening.cancel()
            heard = await self._listen(backlog, first)
        if heard is not Outcome.RESTING:
            self._parts.event_handler.ended()
            await self._parts.close()
        with anyio.move_on_after(SETTLED_WITHIN_S if heard is Outcome.SUCCEEDED else None):
            await self._parts.pages.all_shown()
        if self._journal.state.ended:
            await self._parts.loops.all_posted()
        await self._parts.settle()
        await self._journal.rest()
        return heard or Outcome.ENDED

    async def _listen(self, backlog: ShardBacklog, first: InboxEntry | None) -> Outcome:
        self._listening = True
        entry = first
        while True:
            if entry is not None:
                if entry is not first:
                    self.unfinished.append(entry)
                if self._journal.state.ended:
                    return Outcome.ENDED
                if (outcome := await self._deal_with(entry)) is not None:
                    return outcome
                entry = None
            with anyio.move_on_after(self._rest.idle_s(spoken_with=self._spoken_with)) as self._idle:
                entry = await backlog.receive()
            if entry is not None and self.in_use.outdated and self.quiet and self._rest.possible(self._parts.pages):
                self.unfinished.append(entry)  # for the session with the new program
                return Outcome.RESTING
            if entry is None and self._rest.possible(self._parts.pages) and not len(backlog):
                return Outcome.RESTING

    async def _deal_with(self, entry: InboxEntry) -> Outcome | None:
        """Take an event; the outcome where the session ends with it."""
        kind = entry.event.kind
        if await self._parts.turned_away(entry.event):
            self._consume(entry)
            await self._taken(entry)
        elif kind in ("new", FORK) and (why := await why_none(entry, self._around.store)):
            await self._put_aside(entry, why)
        elif kind in ("new", FORK):
            await self._parts.builtins.end(wanted=True)
            return Outcome.RENEWED
        elif kind == "undo":
            return await self._take_back(entry)
        else:
            await self._take(entry)
        return None

    async def _put_aside(self, entry: InboxEntry, why: str) -> None:
        """Leave what cannot begin here to the dead letters, and go on untouched."""
        key = "fork_lost" if entry.event.kind == FORK else "not_taken"
        self._parts.pages.tell(self._around.texts(f"session.{key}"))
        await self._journal.commit()  # in a crash it is said twice rather than never
        await self._inbox.discard(entry, self._lease().token, reason=why)
        await self._taken(entry)

    async def _take(self, entry: InboxEntry) -> None:
        event = await self._parts.arrivals.prepare(entry.event)
        since = self._journal.state.seq
        told, refused = None, ""
        try:
            told = await self._parts.forks.open(event) if event.kind == FORK_WANTED else None
        except CommandRefused as why:
            refused = str(why)
        concerned = await self._parts.concerned(event)
        if concerned is None:
            self._parts.arrivals.meet(event)
        self._consume(entry, event)
        self._spoken_with = self._spoken_with or event.kind == PARTICIPANT or not self._parts.is_own(event)
        if concerned is not None:
            await concerned.take_own(event)
            await self._taken(entry)
            return
        if refused:
            self._parts.pages.answer(refused, event)
        elif told is not None:
            self._parts.pages.tell(told)
        elif not await self._parts.commands.carry_out(entry, broken=self._broken is not None):
            if self._broken is not None:
                alone = event.asker if event.kind in SESSION_COMMANDS else ""
                self._parts.pages.tell(self._trouble(), event.place, alone=alone)
            else:
                await self._hear(event, since)
        await self._taken(entry)

    async def _take_back(self, entry: InboxEntry) -> Outcome | None:
        """Undo the requested exchanges; None when there are none, and the session continues."""
        undoing = self._parts.undo.undoing(entry.event)
        if isinstance(undoing, str):
            self._consume(entry)
            self._parts.pages.answer(undoing, entry.event)
            await self._taken(entry)
            return None
        await self._parts.take_back(undoing)
        if undoing.seq:
            self.successor = self._parts.undo.succession(undoing)
            return Outcome.SUCCEEDED
        self._consume(entry)
        await self._parts.undo.end(undoing)
        await self._parts.builtins.end(wanted=True)
        self.unfinished.remove(entry)
        return Outcome.ENDED

    async def _stop(self, backlog: ShardBacklog) -> None:
        while (stop := backlog.take_stop()) is not None:
            self.unfinished += stop.entries
            if self._journal.state.ended:
                continue
            if await self._parts.turned_away(stop.entry.event):
                self.unfinished = [entry for entry in self.unfinished if entry not in stop.passed]
                backlog.put_back(stop.passed)
                stop = StopRequest(stop.entry)
            else:
                self._parts.arrivals.meet(stop.entry.event)
                await self._parts.commands.stop(stop)
            for entry in stop.entries:
                self._consume(entry)
            await self._taken(*stop.entries)

    def _consume(self, entry: InboxEntry, event: InboxEvent | None = None) -> None:
        """Take `entry` out of the inbox with the commit that carries what it leads to; `event` is it, made ready."""
        self._parts.take(event or entry.event)
        self._journal.consume(entry.entry_id)

    async def _taken(self, *entries: InboxEntry) -> None:
        await self._journal.commit()
        self.unfinished = [entry for entry in self.unfinished if entry not in entries]
        self._note_written()

    def _trouble(self) -> str:
        return trouble_of(self._journal.state, self.record.program, self._broken, self._around)

    async def _hear(self, event: InboxEvent, since: int) -> None:
        if self._journal.state.news:
            self._parts.pages.tell(news_of(self._journal.state, self._around.texts))
            self._journal.note(NewsTold())
        await self._parts.event_handler.take(event, since)
        self._tell_received(event)

    def _tell_received(self, event: InboxEvent) -> None:
        if event.kind in ("message", "edit", "choice"):
            self._around.bus.publish(MessageReceived(*self._where, f"in.{event.id}", event.person_id))

    @property
    def _where(self) -> tuple[str, str, str]:
        return self.record.id, self.record.address.key, self.record.program
