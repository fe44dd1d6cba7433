"""Processes that share one shard, as a state machine: every order of what they and the network may do.

The truth is the list of commits that were applied. What the stores show must be what these commits add up to, and the
list itself must do no harm. With a fault, only harm is looked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.errors import LeaseLost, TapeConflict
from runtime.core.ids import SessionId
from runtime.stores.inbox import InboxEntry, shard_of
from runtime.stores.sessions import Commit, Lease, LeaseHolder, SessionRecord
from runtime.tape.tape import Fact, TapeBranch, agent_tape, session_tape, tape_in
from tests.contract.redis.fencing_stands import TTL_S, Fault, FencingStand, Stands, contents, waiting
from tests.contract.storage_samples import HERE, SHARD, T0, event

THERE = next(a for a in (Address("web", str(n)) for n in range(10_000)) if shard_of(a.key) == SHARD)
PLACES = (HERE, THERE)
NODES = ("node-a", "node-b", "node-a")
"""Whose process each is: the third is node-a started again while its first process only hangs."""

WHO = st.integers(0, len(NODES) - 1)
WISHES = st.deferred(
    lambda: st.builds(
        Wish,
        reads=st.booleans(),
        events=st.sampled_from((1, 2, 0)),
        facts=st.integers(0, 2),
        opens=st.booleans(),
        shows=st.booleans(),
        awake=st.sampled_from((None, False, True)),
        ends=st.sampled_from((False, False, False, False, True)),
        undoes=st.sampled_from((None, None, None, 0, 1)),
    )
)

Answer = TypeVar("Answer")


class Fate(Enum):
    """What becomes of a commit's answer."""

    COMES = auto()
    LOST = auto()
    """The commit is made again at once."""
    LOST_FOR_LONG = auto()
    """The process hangs, and makes the commit again when it wakes up."""
    LOST_FOR_EVER = auto()
    """The process dies without having heard."""


@dataclass(frozen=True)
class Wish:
    """What a process wants to commit: so many events to take and facts to write, and the rest. `reads`: news first.
    `undoes`: a new session goes on in the place of the one that is there, so many facts before its end."""

    reads: bool
    events: int
    facts: int
    opens: bool
    shows: bool
    awake: bool | None
    ends: bool
    undoes: int | None = None


@dataclass
class Known:
    """A session as a process has it in memory."""

    id: SessionId
    seq: int
    pages: list[str]


@dataclass
class Process:
    """One that holds the shard, or believes so."""

    holder: LeaseHolder
    lease: Lease | None = None
    cursor: str = "0"
    backlog: list[InboxEntry] = field(default_factory=list)
    sessions: dict[Address, Known] = field(default_factory=dict)
    unanswered: Commit | None = None

    def places(self) -> list[Address]:
        """Where it has something to do."""
        return sorted({entry.event.address for entry in self.backlog} | set(self.sessions), key=lambda a: a.key)

    def forget(self) -> None:
        """As after a crash, or after it heard that the shard is another's."""
        self.lease, self.cursor, self.unanswered = None, "0", None
        self.backlog.clear()
        self.sessions.clear()


class FencingModel(RuleBasedStateMachine):
    """Runs over a fresh stand of `stands`, in `runner`."""

    def __init__(self, stands: Stands, fault: Fault | None, runner: asyncio.Runner) -> None:
        super().__init__()
        self._runner = runner
        self._fault = fault
        self.stand: FencingStand = self._run(stands.empty(fault))
        self.processes = [Process(LeaseHolder(name, TTL_S)) for name in NODES]
        self.tokens: list[int] = []
        self.added: list[str] = []
        self.discarded: list[str] = []
        self.applied: list[Commit] = []
        self.events_of: dict[str, str] = {}
        self.names = 0

    def _run(self, call: Coroutine[Any, Any, Answer]) -> Answer:
        return self._runner.run(call)

    def _name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def _pick(self, who: int) -> Process:
        holding = [p for p in self.processes if p.lease is not None]
        return holding[who % len(holding)]

    def _let_pass(self, late: bool) -> None:
        if late:
            self._run(self.stand.let_leases_run_out())

    def _holding(self) -> bool:
        return any(p.lease is not None for p in self.processes)

    def _able(self) -> list[Process]:
        return [p for p in self.processes if p.lease is not None and p.unanswered is None and p.places()]

    def _working(self) -> bool:
        return bool(self._able())

    # What people and the network do.

    @initialize()
    def two_write_and_a_process_takes_the_shard(self) -> None:
        for place in PLACES:
            self.somebody_writes(place, again=False)
        self.tries_for_the_lease(0, late=False)

    @rule(place=st.sampled_from(PLACES), again=st.booleans())
    def somebody_writes(self, place: Address, again: bool) -> None:
        """`again`: the platform repeats what it sent, as if we had not acknowledged it."""
        name = f"{place.key} {len(self.added)}"
        assert self._run(self.stand.inbox.add(event(name, address=place)))
        self.added.append(name)
        assert not again or not self._run(self.stand.inbox.add(event(name, address=place)))

    @precondition(lambda self: self.stand.sent > 0)
    @rule(number=st.integers(0, 10_000))
    def a_late_copy_arrives(self, number: int) -> None:
        self._run(self.stand.send_again(number % self.stand.sent))

    # What processes do.

    @rule(who=WHO, late=st.booleans())
    def tries_for_the_lease(self, who: int, late: bool) -> None:
        """`late`: after the time of a lease without a renewal. Who gets it reads at once what waits."""
        process = self.processes[who]
        if process.lease is None:
            self._let_pass(late)
            token = self._run(self.stand.leases.acquire(f"shard:{SHARD}", process.holder))
            if token is not None:
                self.tokens.append(token)
                process.lease = Lease(SHARD, token)
                self._read(process)

    @precondition(_holding)
    @rule(who=WHO, late=st.booleans())
    def renews(self, who: int, late: bool) -> None:
        process = self._pick(who)
        self._let_pass(late)
        assert process.lease is not None
        kept = self._run(self.stand.leases.renew(f"shard:{SHARD}", process.holder, process.lease.token))
        assert self._fault or kept == (process.lease.token == self.tokens[-1])
        if not kept:
            process.forget()

    @precondition(_holding)
    @rule(who=WHO, orderly=st.booleans())
    def ends(self, who: int, orderly: bool) -> None:
        """Releases its lease, or dies without."""
        process = self._pick(who)
        assert process.lease is not None
        if orderly:
            self._run(self.stand.leases.release(f"shard:{SHARD}", process.holder, process.lease.token))
        process.forget()

    def _read(self, process: Process) -> None:
        for entry in self._run(waiting(self.stand, process.cursor)):
            process.cursor = entry.entry_id
            process.backlog.append(entry)
            self.events_of[entry.entry_id] = entry.event.id

    @precondition(_holding)
    @rule(who=WHO)
    def discards(self, who: int) -> None:
        process = self._pick(who)
        assert process.lease is not None
        if process.backlog and process.unanswered is None:
            entry = process.backlog.pop(0)
            try:
                self._run(self.stand.inbox.discard(entry, process.lease.token, reason="test"))
            except LeaseLost:
                self._loses(process)
            else:
                self.discarded.append(entry.event.id)

    @precondition(_working)
    @rule(who=WHO, place=st.integers(0, 1), wishes=st.lists(WISHES, min_size=1, max_size=4))
    def commits(self, who: int, place: int, wishes: list[Wish]) -> None:
        for wish in wishes:
            if self._working():
                self._commit(who, place, wish, Fate.COMES)

    @precondition(_working)
    @rule(who=WHO, place=st.integers(0, 1), wish=WISHES, fate=st.sampled_from(Fate))
    def commits_without_an_answer(self, who: int, place: int, wish: Wish, fate: Fate) -> None:
        self._commit(who, place, wish, fate)

    def _commit(self, who: int, place: int, wish: Wish, fate: Fate) -> None:
        able = self._able()
        process = able[who % len(able)]
        if wish.reads:
            self._read(process)
        places = process.places()
        commit = self._commit_of(process, places[place % len(places)], wish)
        if commit is None or not self._is_applied(process, commit):
            return
        self.applied.append(commit)
        if fate is Fate.LOST:
            self._run(self.stand.sessions.commit(commit))
        elif fate is Fate.LOST_FOR_LONG:
            process.unanswered = commit
        if fate is Fate.LOST_FOR_EVER:
            process.forget()
        else:
            self._remember(process, commit)

    @precondition(lambda self: any(p.unanswered is not None for p in self.processes))
    @rule(who=WHO)
    def wakes_up_and_commits_again(self, who: int) -> None:
        hanging = [p for p in self.processes if p.unanswered is not None]
        process = hanging[who % len(hanging)]
        assert process.unanswered is not None
        if self._is_applied(process, process.unanswered):
            process.unanswered = None

    def _commit_of(self, process: Process, place: Address, wish: Wish) -> Commit | None:
        """None when there is neither a session nor an event that could begin one."""
        assert process.lease is not None
        known = self._known(process, place)
        entries = [entry for entry in process.backlog if entry.event.address == place]
        taken = tuple(entry.entry_id for entry in entries[: wish.events])
        if known is None and not taken:
            return None
        parent = None
        if known is not None and wish.undoes is not None:
            parent = TapeBranch(known.id, max(0, known.seq - wish.undoes))
        id_ = SessionId(self._name("s")) if known is None or parent is not None else known.id
        seq, pages = (0, []) if known is None else (known.seq, known.pages)
        if parent is not None:
            seq, pages = parent.seq, []
        tapes = (session_tape(id_), agent_tape(id_, "1000"), agent_tape(id_, "1001"))
        data = {"token": process.lease.token}
        return Commit(
            lease=process.lease,
            session=id_,
            expect=seq,
            facts=tuple(Fact(tapes[n % 3], n, "said", T0, data) for n in range(seq + 1, seq + 1 + wish.facts)),
            consume=taken,
            outbox_add=(self._name("p"),) if wish.opens else (),
            outbox_done=tuple(pages[:1]) if wish.shows else (),
            awake=wish.awake,
            begin=SessionRecord(id_, place, "hello", T0, 0, parent=parent) if known is None or parent else None,
            end=wish.ends,
            replaces=None if parent is None else parent.session,
        )

    def _known(self, process: Process, place: Address) -> Known | None:
        if place not in process.sessions:
            record = self._run(self.stand.sessions.current(SHARD, place.key))
            if record is None:
                return None
            owed = self._run(self.stand.sessions.unfinished(SHARD)).get(record.id, frozenset())
            process.sessions[place] = Known(record.id, record.seq, sorted(owed))
        return process.sessions[place]

    def _remember(self, process: Process, commit: Commit) -> None:
        process.backlog = [entry for entry in process.backlog if entry.entry_id not in commit.consume]
        if commit.begin is not None:
            process.sessions[commit.begin.address] = Known(commit.session, commit.expect, [])
        place, known = next((place, known) for place, known in process.sessions.items() if known.id == commit.session)
        if commit.end:
            del process.sessions[place]
        known.seq += len(commit.facts)
        known.pages = [page for page in (*known.pages, *commit.outbox_add) if page not in commit.outbox_done]

    def _is_applied(self, process: Process, commit: Commit) -> bool:
        """Whether the store takes it; a process that is refused knows by that it has lost the shard."""
        try:
            self._run(self.stand.sessions.commit(commit))
        except LeaseLost:
            self._loses(process)
            return False
        except TapeConflict:
            if self._fault is None:
                raise
            process.sessions.clear()
            return False
        return True

    def _loses(self, process: Process) -> None:
        assert process.lease is not None
        assert self._fault or process.lease.token != self.tokens[-1], "the holder of the latest token was refused"
        process.forget()

    # What must hold.

    @invariant()
    def no_harm_is_done(self) -> None:
        """Every event has one end, and in every conversation lives one session."""
        ends = [self.events_of[entry] for commit in self.applied for entry in commit.consume] + sorted(
            set(self.discarded)
        )
        assert len(ends) == len(set(ends)), "an event was processed twice"
        for place in PLACES:
            assert len(self._alive(place.key)) <= 1, "two sessions live in one conversation"

    @precondition(lambda self: self._fault is None)
    @invariant()
    def tokens_only_grow(self) -> None:
        """As they are given out, and along what was written under them."""
        assert self.tokens == sorted(set(self.tokens)), "a token was given twice"
        written = [commit.lease.token for commit in self.applied]
        assert written == sorted(written), "a void token was good for a commit"

    @precondition(lambda self: self._fault is None)
    @invariant()
    def the_stores_show_what_was_applied(self) -> None:
        sessions = list(dict.fromkeys(commit.session for commit in self.applied))
        seen = self._run(contents(self.stand, sessions, [place.key for place in PLACES]))
        ends = {self.events_of[entry] for commit in self.applied for entry in commit.consume} | set(self.discarded)
        assert seen.waiting == tuple(name for name in self.added if name not in ends)
        assert seen.dead == tuple(self.discarded)
        assert seen.unfinished == self._unfinished(sessions)
        for session in sessions:
            facts = self._facts(session)
            assert [fact.seq for fact in facts] == list(range(1, len(facts) + 1))
            assert list(seen.facts[session]) == facts
            record = seen.records[session]
            assert record is not None
            assert (record.seq, record.ended) == (len(facts), session in self._ended())
        for place in PLACES:
            assert seen.current[place.key] == next(iter(self._alive(place.key)), None)

    def _facts(self, session: SessionId) -> list[Fact]:
        """Those of its parent up to the branch, as its own, and its own."""
        commits = [commit for commit in self.applied if commit.session == session]
        parent = next((commit.begin.parent for commit in commits if commit.begin is not None), None)
        before = [] if parent is None else self._facts(parent.session)[: parent.seq]
        inherited = [replace(fact, tape=tape_in(fact.tape, session)) for fact in before]
        return [*inherited, *(fact for commit in commits for fact in commit.facts)]

    def _ended(self) -> set[SessionId]:
        replaced = {commit.replaces for commit in self.applied if commit.replaces is not None}
        return replaced | {commit.session for commit in self.applied if commit.end}

    def _alive(self, key: str) -> list[SessionId]:
        begun = [commit.begin for commit in self.applied if commit.begin is not None]
        return [record.id for record in begun if record.address.key == key and record.id not in self._ended()]

    def _unfinished(self, sessions: list[SessionId]) -> dict[SessionId, frozenset[str]]:
        owed: dict[SessionId, set[str]] = {session: set() for session in sessions}
        awake: dict[SessionId, bool] = {}
        for commit in self.applied:
            owed[commit.session] |= set(commit.outbox_add)
            owed[commit.session] -= set(commit.outbox_done)
            if commit.awake is not None:
                awake[commit.session] = commit.awake
            if commit.replaces is not None:
                owed[commit.replaces], awake[commit.replaces] = set(), False
        return {s: frozenset(pages) for s, pages in owed.items() if pages or awake.get(s)}
