"""A session's journal: facts go through here, first into the state, then with the next commit onto the tapes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from msgspec import Struct

from runtime.core.background import ListenerList, OnDemand, WakeSignal
from runtime.core.clock import Clock
from runtime.core.errors import LeaseLost, StorageError
from runtime.core.ids import SessionId, TapeId
from runtime.core.plain_text import whole_characters
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.registry import FactListeners
from runtime.tape.facts.session import SessionEnded
from runtime.tape.fold import apply, apply_fact
from runtime.tape.running import RunningCode
from runtime.tape.state.frames import CallKey
from runtime.tape.state.session import SessionState
from runtime.tape.tape import MAX_FACT_CHARS, Fact, agent_tape, session_tape, with_short_reasons
from runtime.tape.view import event_type

MAX_PENDING = 100
"""While this number of facts waits to be written, calls wait for the store."""

_LARGE = 2**63
"""Whether JSON has an integer of more than this, it says itself."""

_SMALL = 50_000
"""What has more characters and items is measured as JSON."""


class CommitBatch(Struct, frozen=True):
    """The contents of one commit. `expect` is the last committed `seq`; `consume` are inbox entry ids."""

    expect: int
    facts: tuple[Fact, ...]
    consume: tuple[str, ...]
    outbox_add: tuple[str, ...]
    outbox_done: tuple[str, ...]
    awake: bool
    ended: bool
    events: tuple[tuple[int, str], ...] = ()
    """The facts that are events for other programs: the `seq` and the type of each."""


Committer: TypeAlias = Callable[[CommitBatch], Awaitable[None]]
"""Makes a batch durable, or raises StorageError: then the session must go, its state is ahead of the tape."""


def as_data(value: Any) -> Any:
    """`value` as it reads after a restart: through JSON in UTF-8. Raises TypeError or ValueError for no data, and for
    more of it than a fact takes."""
    try:
        return _Copy().of(value)
    except (TypeError, RecursionError):
        text = json.dumps(value, ensure_ascii=False)
    if len(text) > MAX_FACT_CHARS:
        raise ValueError(f"it is longer than {MAX_FACT_CHARS:,} characters; keep large values in files")
    return json.loads(whole_characters(text))


class _Copy:
    """A copy of small values of JSON's own types, of which it makes the same faster."""

    def __init__(self) -> None:
        self._left = _SMALL

    def of(self, value: Any) -> Any:
        """The copy. Raises TypeError for any other type, and for a large value."""
        kind = type(value)
        if kind is str:
            self._count(value)
            return value if value.isascii() else whole_characters(value)
        if value is None or kind is bool or kind is float or (kind is int and -_LARGE < value < _LARGE):
            return value
        if kind is list or kind is tuple:
            self._count(value)
            return [self.of(item) for item in value]
        if kind is not dict:
            if isinstance(value, str):
                return self.of(str.__str__(value))
            raise TypeError(kind)
        self._count(value)
        copy: dict[str, Any] = {}
        for name, item in value.items():
            if type(name) is not str or not name.isascii():
                raise TypeError(name)
            copy[name] = item if item is None else self.of(item)
        return copy

    def _count(self, value: Sequence[Any] | Mapping[Any, Any]) -> None:
        self._left -= len(value)
        if self._left < 0:
            raise TypeError("a large value")


def _settled(content: FactContent) -> tuple[Mapping[str, Any], FactContent]:
    """The stored form of a fact and what it says, as they read after a restart. Raises as `as_data` does."""
    try:
        settled = content.settled(_Copy().of)
    except (TypeError, RecursionError):
        settled = None
    if settled is not None:
        return settled
    data: Mapping[str, Any] = as_data(with_short_reasons(content.data()))
    return data, content.read(data)


def digest_of(name: str, args: object, kwargs: object) -> str:
    """A short digest that tells whether a call is the recorded one.

    Arguments that are not data have no digest: a call with them fails anyway.
    """
    try:
        text = _DIGESTED([name, args, kwargs])
    except (TypeError, ValueError, RecursionError):
        text = json.dumps([name, "no data"])
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


_DIGESTED = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, default=lambda value: f"<{type(value).__name__}>"
).encode


class Journal:
    """Notes and commits of one session.

    A note changes the state at once and waits for the next commit, in order; a commit returns when everything noted so
    far is durable. Commits that overlap share one write. They end after `start`.
    """

    def __init__(self, session: SessionId, clock: Clock, committer: Committer, *, seen: bool = False) -> None:
        """`seen`: other programs see of this session what `runtime.tape.view` has for them."""
        self.session = session
        self.state = SessionState()
        self._clock = clock
        self._committer = committer
        self._facts: list[Fact] = []
        self._seen = seen
        self._events: list[tuple[int, str]] = []
        self._owed: dict[str, bool] = {}
        """What the outbox gains (True) and what it loses; of several facts about the same thing the last one counts."""
        self._consume: list[str] = []
        self.committed = 0
        """The number of the last fact on the tape."""
        self._writing = OnDemand(self._write)
        self._changed = WakeSignal()
        self._failed: StorageError | None = None
        self._left = False
        self._listeners: dict[str, Callable[[], None]] = {}
        self._awake = False
        self._looked_at, self._works = -1, False
        """The fact up to which work was looked for, and whether there was any: asked for after almost every fact."""
        self._come: CallKey | None = None
        self._known_awake: bool | None = None
        """What the store has, as far as is known."""
        self.rested = 0
        """The last fact on the tape at which nothing was going on, as far as is known: others can go on from there."""
        self.noted = FactListeners()
        """Told of every fact when it was noted."""
        self.written = ListenerList[None]()
        """Told of every commit when it was made."""
        self.rests = ListenerList[None]()
        """Told when work has come to rest without a fact."""
        self.running = RunningCode(self.state)
        self.settles = False
        """Whether somebody waits for a moment in which all that is noted is durable."""

    @property
    def pending(self) -> int:
        """The number of facts that wait for a commit."""
        return len(self._facts)

    @property
    def crowded(self) -> bool:
        """Whether calls are to wait for the next commit, so that what goes on without the store is bounded."""
        return self.settles or len(self._facts) >= MAX_PENDING

    @property
    def settled(self) -> bool:
        """Whether everything that was noted is durable."""
        return self.committed == self.state.seq

    def go_on_from(self, state: SessionState) -> None:
        """Begin with what the facts so far add up to, all of which are on the tape."""
        for name in state.__struct_fields__:
            setattr(self.state, name, getattr(state, name))
        self.committed = state.seq

    def restore(self, fact: Fact) -> None:
        """Apply a fact that is on the tape already."""
        apply_fact(self.state, fact)
        self.committed = fact.seq

    def note(self, content: FactContent) -> int:
        """Make a fact true now and durable with the next commit; returns its `seq`. What it says must be JSON data.

        Raises ValueError for more than a fact takes."""
        if self._failed is not None:
            raise self._failed
        data, plain = _settled(content)
        seq = self.state.seq + 1
        tape = self._tape(plain)
        now = self._clock.now()
        if self._seen and (event := event_type(plain, self.state)) is not None:
            self._events.append((seq, event))
        apply(self.state, seq, plain, now.timestamp())
        self._facts.append(Fact(tape, seq, plain.kind, now, data))
        owed, paid = plain.owes(), plain.pays()
        if owed is not None:
            self._owed[owed] = True
        elif paid is not None:
            self._owed[paid] = False
        frame = plain.frame_id()
        if frame is not None:
            self._tell(frame)
        self.noted.tell(plain)
        return seq

    def consume(self, entry_id: str) -> None:
        """Take an entry out of the inbox with the next commit."""
        self._consume.append(entry_id)

    def hurry(self) -> None:
        """Have what was noted written soon, without waiting for it."""
        self._writing.wake()

    def restless(self) -> bool:
        """Whether there is work to do without a further event."""
        state = self.state
        if state.ended:
            return state.restless()
        return state.owes_word() or state.owes() or (state.broken is None and self.at_work())

    def at_work(self) -> bool:
        """Whether something is being done now."""
        if self.running.any():
            return True
        state = self.state
        if self._looked_at != state.seq:
            if self._come is None or not state.has_come(self._come):
                self._come = state.come()
            self._works = self._come is not None or state.at_work()
            self._looked_at = state.seq
        return self._works

    def awake(self) -> bool:
        """Whether a restart takes the session into memory: for work, or for a time that it waits for."""
        return self.restless() or self.state.next_due() is not None

    def settle(self) -> None:
        """Have it recorded that work has come to rest, when that happened without a fact."""
        if self._awake and not self.awake():
            self._writing.wake()
        if not self.at_work():
            self.rests.tell(None)

    def listen(self, frame: str, changed: Callable[[], None]) -> None:
        """Call `changed` whenever a fact about `frame` is noted."""
        self._listeners[frame] = changed

    def forget(self, frame: str) -> None:
        """Stop telling about `frame`."""
        self._listeners.pop(frame, None)

    async def commit(self) -> None:
        """Return when everything noted so far is durable. Raises StorageError when it cannot become so."""
        target = self.state.seq
        self._writing.wake()
        while self.committed < target or self._consume:
            if self._failed is not None:
                raise self._failed
            if self._left:
                await checkpoint()  # what ends with the session is cancelled here, and not told that others have it
                raise LeaseLost(f"Session {self.session} has left memory; who continues it knows what was committed.")
            await self._changed.wait()
        if self._failed is not None:
            raise self._failed

    def leave(self) -> None:
        """Write nothing more: the session leaves memory. Who waits for a commit, or will, learns it by LeaseLost; a
        page's call that waited without end would keep its place in the platform's limits.
        """
        self._left = True
        self._changed.send()

    async def rest(self) -> None:
        """Return when everything noted is durable, and the store knows whether a restart has to go on with something.

        Raises StorageError as `commit` does.
        """
        await self.commit()
        while self.awake() != self._known_awake:
            self._writing.wake()
            await self._changed.wait()
            await self.commit()

    def start(self, tasks: TaskGroup) -> None:
        """Write batches in `tasks` as they are wanted. The StorageError that breaks it breaks the group."""
        self._writing.start(tasks)

    async def _write(self) -> None:
        if not self._facts and not self._consume and self.awake() == self._awake:
            self._changed.send()
            return
        at_rest = not self.at_work()
        batch = self._take()
        try:
            await self._committer(batch)
        except StorageError as error:
            self._failed = error
            self._changed.send()
            raise
        self.committed = batch.expect + len(batch.facts)
        self._known_awake = batch.awake
        if at_rest:
            self.rested = self.committed
        self._changed.send()
        self.written.tell(None)

    def _take(self) -> CommitBatch:
        facts, self._facts = self._facts, []
        events, self._events = self._events, []
        consume, self._consume = self._consume, []
        self._awake = self.awake()
        owed, self._owed = self._owed, {}
        return CommitBatch(
            expect=self.committed,
            facts=tuple(facts),
            consume=tuple(consume),
            outbox_add=tuple(name for name, gained in owed.items() if gained),
            outbox_done=tuple(name for name, gained in owed.items() if not gained),
            awake=self._awake,
            ended=any(f.kind == SessionEnded.kind for f in facts),
            events=tuple(events),
        )

    def _tell(self, frame: str) -> None:
        changed = self._listeners.get(frame)
        if changed is not None:
            changed()
        caller = frame.rpartition(":")[0]
        if caller and caller in self._listeners:
            self._listeners[caller]()

    def _tape(self, content: FactContent) -> TapeId:
        if content.on_session_tape:
            return session_tape(self.session)
        frame = self.state.frames.get(content.frame_id() or "")
        if frame is not None:
            return agent_tape(self.session, frame.agent)
        page = self.state.pages.get(content.page_id() or "")
        if page is not None:
            return agent_tape(self.session, page.agent)
        owner = content.agent_id()
        return agent_tape(self.session, owner) if owner else session_tape(self.session)
