"""A world that survives a crash of the process, and can crash it at every point where something leaves the process."""

from __future__ import annotations

import asyncio
import dataclasses
import heapq
import itertools
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from msgspec.structs import replace

from gateway.extensions.node import NodeExtensions
from gateway.features.participants.door import NodeParticipants
from gateway.features.publishing.node import publishing_part
from gateway.features.remote.node import NodeTools
from gateway.features.tasks.node import NodeTasks
from gateway.features.usage.ledger import allowance_part
from runtime.bus import Bus
from runtime.channels.mailbox import NoMailboxes
from runtime.channels.outbox import Done, QuietPage, unheard
from runtime.core.address import Address, Speaker
from runtime.core.errors import AdapterError, LeaseLost, TapeConflict
from runtime.core.files import FileAccess
from runtime.core.ids import SessionId
from runtime.core.json_text import plain_data
from runtime.core.message import Attachment, Mark
from runtime.core.page import PageRecord, PageSpec
from runtime.core.quote import Quote
from runtime.execution.calls.remote import RemoteServers, RemoteTools, ToolRules
from runtime.language.program import Program
from runtime.llm.client import CompletionRequest, LLMClient, Usage
from runtime.sandbox.executor import Sandbox
from runtime.sessions.idle import RestingSessions
from runtime.sessions.node_context import Busy, NodeContext, ProgramHabits
from runtime.sessions.registry import ConversationRegistry
from runtime.stores.inbox import ANSWER, FORK_WANTED, InboxEntry, InboxEvent, KnownEvent
from runtime.stores.orders import TaskLimits
from runtime.stores.sessions import Commit, HeldPlace, Lease, SessionRecord
from runtime.tape.snapshot import Snapshot
from runtime.tape.tape import Fact, tape_in, tape_owner
from tests.fakes.files_and_voices import with_files
from tests.fakes.memory.places import MemoryPlaceStore
from tests.fakes.people.player import Player, WatchedMailboxes

ADDRESS = Address("test", "1")

_MOST_ROUNDS = 500
"""A test that looks round and round for what is to happen does not stop the clock."""


class Crash(BaseException):
    """The process is gone. Nothing may catch it, as nothing catches kill -9."""


_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class TurboClock:
    """Time that passes in no time, but not before all that can happen has happened: then it is the time that is waited
    for next."""

    def __init__(self) -> None:
        self._at_s = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._looking: asyncio.AbstractEventLoop | None = None
        self._rounds = 0

    def now(self) -> datetime:
        return _BEGIN + timedelta(seconds=self._at_s) if self._at_s else _BEGIN

    def monotonic(self) -> float:
        return self._at_s

    async def sleep_until(self, monotonic_s: float, /) -> None:
        if monotonic_s <= self._at_s:
            await checkpoint()
            return
        loop = asyncio.get_running_loop()
        sleeper = loop.create_future()
        heapq.heappush(self._sleepers, (monotonic_s, next(self._order), sleeper))
        if self._looking is not loop:
            self._look_again(loop)
        await sleeper

    def _look_again(self, loop: asyncio.AbstractEventLoop) -> None:
        self._looking = loop
        loop.call_soon(self._look, loop, context=Context())  # not in the name of the playbook that waits

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake who waits for the next time, once nobody else has anything to do."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        self._rounds += 1
        if self._sleepers and (not vars(loop)["_ready"] or self._rounds > _MOST_ROUNDS):
            due_s, _, sleeper = heapq.heappop(self._sleepers)
            self._at_s, self._rounds = max(self._at_s, due_s), 0
            sleeper.set_result(None)
        if self._sleepers:
            self._look_again(loop)
        else:
            self._looking = None


def event_of(number: str, does: str, at: datetime, offered: Sequence[PageSpec], address: Address) -> InboxEvent:
    """What a person does, as `World.arrive` has it."""
    kind, _, rest = does.partition(":")
    about, _, text = rest.partition(":")
    event = InboxEvent(number, address, "test:1", "Ada", does, at, message_id=f"m{number}", program="test")
    if kind == "by":
        return replace(event_of(number, text, at, offered, address), person_id=f"test:{about}", person_name=about)
    if kind in ("press", "answer"):
        choice, kind = offered[-1].choices[int(about)], "choice" if kind == "press" else ANSWER
        return replace(event, kind=kind, text=choice.label, choice=choice.id, address=offered[-1].address)
    if kind in ("stop", "new", "undo"):
        return replace(event, kind=kind, text="")
    if kind == "order":
        return replace(event, kind=about, text=text)
    if kind == "fork":
        return replace(event, kind=FORK_WANTED, text=rest)
    if kind == "in":
        return replace(event, place=replace(address, thread=about), text=text)
    if kind == "at":
        return replace(event, address=replace(address, thread=about), text=text)
    if kind == "reply":
        return replace(event, quote=Quote(about, "", ""), text=text)
    if kind in ("edit", "deletion", "reaction"):
        return replace(event, kind=kind, text=text, message_id=about)
    return event


@dataclass
class Shown:
    """A message on the platform."""

    speaker: str
    text: str
    texts: list[str] = field(default_factory=list)
    spec: PageSpec | None = None


class World:
    """Store, inbox and platform. `crashes` are the numbers of the points at which the process dies."""

    def __init__(
        self, people: Sequence[str], *, crashes: Sequence[int] = (), seed: int = 0, nonce: bool = True
    ) -> None:
        self.people = list(people)
        self.rng = random.Random(seed)
        self.nonce = nonce
        self.points = 0
        self.deaths = 0
        self.chat: list[Shown] = []
        self.facts: list[Fact] = []
        self.specs: list[PageSpec] = []
        self.logged: list[str] = []
        """The lines that programs wrote into the log."""
        self.clock = TurboClock()
        self.idle = anyio.Event()
        self.tasks: TaskGroup
        self._crashes = frozenset(crashes)
        self._dead = False
        self._nonces: dict[str, int] = {}
        self._records: dict[SessionId, SessionRecord] = {}
        self._tapes: dict[SessionId, list[Fact]] = {}
        self._snapshots: dict[SessionId, Snapshot] = {}
        self._current: dict[str, SessionId] = {}
        self._added: set[tuple[str, str]] = set()
        self.hand_over: Callable[[InboxEntry], None] = lambda _entry: None
        """Told of what was added to the inbox."""
        self.threads: dict[Address, str] = {}
        """What was opened, with its title."""
        self.has_threads = True
        self.posted_by = ""
        """What the ids of messages say of who has posted them, such as "@7" for a webhook."""
        self.gone: set[Address] = set()
        """Places that were deleted: nothing can be posted or changed there any more."""
        self._opened: dict[str, Address] = {}
        self._awake: set[SessionId] = set()
        self._outbox: set[tuple[SessionId, str]] = set()
        self._inbox: list[InboxEntry] = []
        self._arrived = 0
        self.seen_outside: list[tuple[str, int, str]] = []
        """The lines of the log for other programs: session, number and type."""
        self.discarded: list[InboxEntry] = []
        self.dismissed: list[InboxEntry] = []
        self.bears: tuple[type[Exception], ...] = ()
        """Failures of sessions that the story is about; others end it."""
        self.reacts = True
        self.reached = True
        """Whether marks and what becomes of choices reach the platform."""
        self.marks: list[tuple[str, Mark | None]] = []
        self.marked_at: list[tuple[Address, str, Mark | None]] = []
        self.typed_at: list[Address] = []
        """Where agents were seen to work."""
        self.fails_to_open: AdapterError | None = None
        self.may_open = anyio.Event()
        """Until it is set, the platform does not answer who wants a place opened."""
        self.may_open.set()
        self.settled: list[PageSpec] = []
        self.settled_texts: list[str] = []
        self.offered: list[PageSpec] = []
        self.doing: list[str | None] = []
        self.works: list[bool] = []
        self.servers: RemoteServers = RemoteServers()
        self.files: FileAccess | None = None
        self.brings: Mapping[str, Sequence[Attachment]] = {}
        """The files that come with what people say, by its words."""
        self.places: WorldPlaces | None = None
        self.mailboxes = WatchedMailboxes(lambda _applied: self.point())
        self.player = Player(self.mailboxes, lambda _content: (), self, self.clock)
        """Who plays agents from another process, if any is."""

    def point(self) -> None:
        """Something is about to leave the process, or just has."""
        if self._dead:
            raise Crash
        self.points += 1
        if self.points in self._crashes:
            self._dead = True
            self.deaths += 1
            raise Crash

    def die_at(self, *crashes: int) -> None:
        """From now on processes die at these points, counted from here."""
        self.points, self._crashes = 0, frozenset(crashes)

    def revive(self) -> None:
        """A new process begins."""
        self._dead = False

    def arrive(self) -> InboxEntry | None:
        """The next thing a person does; None when all was done.

        "edit:m2:text", "deletion:m2:", "reaction:0:mark" and "reply:0:text" are about a message, "press:1" answers the
        last question, "answer:1" does from elsewhere, "stop" is one, "in:t1:text" is said in a thread.
        """
        if not self.people:
            return None
        self._arrived += 1
        number = str(self._arrived)
        event = event_of(number, self.people.pop(0).lstrip("!?"), self.clock.now(), self.offered, ADDRESS)
        brought = tuple(plain_data(file) for file in self.brings.get(event.text, ()))
        event = replace(event, attachments=brought)
        if event.place is not None and (self.places is None or event.place.key not in self.places.held):
            event = replace(event, address=event.place, place=None)
        entry = InboxEntry(0, number, event)
        self.take_in(entry)
        return entry

    @property
    def is_asked(self) -> bool:
        """Whether the next person answers a task, and the conversation knows what it asks."""
        if not self.people or not self.people[0].startswith("?"):
            return False
        return any(
            fact.kind == "task_asks" and self._records[tape_owner(fact.tape)].address == ADDRESS for fact in self.facts
        )

    @property
    def hurried(self) -> bool:
        """Whether the next thing is done while the agents are at work."""
        return bool(self.people) and self.people[0].startswith(("!", "?"))

    def take_in(self, entry: InboxEntry) -> None:
        """Keep an event until a session has taken it."""
        self._arrived = max(self._arrived, int(entry.entry_id))
        self._inbox.append(entry)
        if self.idle.is_set():
            self.idle = anyio.Event()

    @property
    def taken_in(self) -> int:
        """The greatest number of an entry so far."""
        return self._arrived

    @property
    def waiting(self) -> list[InboxEntry]:
        """What no session has taken."""
        return list(self._inbox)

    # -- the store

    async def commit(self, commit: Commit, /) -> None:
        await checkpoint()
        self.point()
        known = self._records.get(commit.replaces or commit.session)
        if known is not None and commit.taken_in not in (None, known.taken_in):
            raise TapeConflict("it was imported again", expected=commit.expect, actual=known.seq)
        if commit.begin is not None:
            parent = commit.begin.parent
            self._records[commit.session] = commit.begin
            self._tapes[commit.session] = [] if parent is None else self._tapes[parent.session][: parent.seq]
            self._current[commit.begin.address.key] = commit.session
        if commit.replaces is not None:
            old = self._records[commit.replaces]
            self._records[commit.replaces] = dataclasses.replace(old, ended=True, replaced_by=commit.session)
            self._awake.discard(commit.replaces)
            self._outbox = {owed for owed in self._outbox if owed[0] != commit.replaces}
        tape = self._tapes[commit.session]
        if len(tape) != commit.expect:
            raise TapeConflict("somebody else wrote", expected=commit.expect, actual=len(tape))
        if not {entry.entry_id for entry in self._inbox} >= set(commit.consume):
            raise TapeConflict("somebody else took the event", expected=commit.expect, actual=len(tape))
        tape.extend(commit.facts)
        self.facts.extend(commit.facts)
        self.seen_outside += [(commit.session, *line) for line in commit.events]
        self._inbox = [entry for entry in self._inbox if entry.entry_id not in commit.consume]
        self._outbox |= {(commit.session, page) for page in commit.outbox_add}
        self._outbox -= {(commit.session, page) for page in commit.outbox_done}
        if commit.awake:
            self._awake.add(commit.session)
        else:
            self._awake.discard(commit.session)
        if commit.end:
            self._current.pop(self._records[commit.session].address.key, None)
        self.point()
        self.rest()

    async def current(self, _shard: int, conversation: str, /) -> SessionRecord | None:
        return self._records[self._current[conversation]] if conversation in self._current else None

    async def session(self, _shard: int, session: SessionId, /) -> SessionRecord | None:
        return self._records.get(session)

    async def unfinished(self, _shard: int, /) -> Mapping[SessionId, frozenset[str]]:
        active = self._awake | {session for session, _ in self._outbox}
        return {session: frozenset() for session in active}

    async def read_session(
        self, session: SessionId, *, after: int = 0, until: int | None = None
    ) -> AsyncIterator[Fact]:
        for fact in self.told_of(session)[:until]:
            if fact.seq > after:
                yield fact

    def told_of(self, session: SessionId) -> list[Fact]:
        """All its facts, with those that it has of the session which it was forked from."""
        return [replace(fact, tape=tape_in(fact.tape, session)) for fact in self._tapes.get(session, [])]

    async def read_tape(self, tape: str, *, after: int = 0) -> AsyncIterator[Fact]:
        for fact in self.facts:
            if fact.tape == tape and fact.seq > after:
                yield fact

    async def snapshot(self, session: SessionId, version: str, /) -> Snapshot | None:
        kept = self._snapshots.get(session)
        return kept if kept is not None and kept.version == version else None

    async def keep_snapshot(
        self, _lease: Lease, session: SessionId, snapshot: Snapshot, /, *, taken_in: str | None = None
    ) -> None:
        assert taken_in is None or taken_in == self._records[session].taken_in
        await checkpoint()
        self.point()
        self._snapshots[session] = snapshot
        self.point()

    # -- the inbox

    async def known(self, _address: Address, _event_id: str, /) -> KnownEvent | None:
        """Nothing was taken in that somebody asks for."""
        return None

    async def add(self, event: InboxEvent, /) -> bool:
        self.point()
        known = (event.address.key, event.id)
        if known not in self._added:
            self._added.add(known)
            entry = InboxEntry(0, str(self._arrived + 1), event)
            self.take_in(entry)
            self.hand_over(entry)
            self.point()
            return True
        return False

    async def still_waiting(self, entries: Sequence[InboxEntry], /) -> Sequence[InboxEntry]:
        return [entry for entry in entries if entry in self._inbox]

    async def read(self, _after: Mapping[int, str], /, *, wait_s: float) -> Sequence[InboxEntry]:
        raise AssertionError(f"the test hands events over by itself, not within {wait_s} s")

    async def discard(self, entry: InboxEntry, _token: int, /, *, reason: str) -> None:
        assert reason
        self.point()
        self.discarded.append(entry)
        self._gone(entry)
        self.point()

    async def dismiss(self, entry: InboxEntry, _token: int, /) -> None:
        self.dismissed.append(entry)
        self._gone(entry)

    def _gone(self, entry: InboxEntry) -> None:
        self._inbox.remove(entry)
        self.rest()

    async def look(self) -> None:
        """See whether nothing is going on."""
        self.rest()

    def rest(self) -> None:
        """Say so when nothing is going on, here or in the mailboxes."""
        if not (self._inbox or self._awake or self._outbox or self.mailboxes.waiting_now):
            self.idle.set()

    # -- the platform

    def send(self, spec: PageSpec, text: str) -> str:
        """Post a message; with nonces, the same one twice is one message."""
        nonce = f"{spec.id}.0"
        self.point()
        if not (self.nonce and nonce in self._nonces):
            self.chat.append(Shown(spec.speaker.name, text, [text], spec))
            self._nonces[nonce] = len(self.chat) - 1
        number = self._nonces[nonce] if self.nonce else len(self.chat) - 1
        self.point()
        return f"{number}{self.posted_by}"

    def edit(self, platform_id: str, text: str) -> None:
        """Change a message."""
        self.point()
        shown = self.chat[int(platform_id.removesuffix(self.posted_by))]
        shown.text = text
        shown.texts.append(text)
        self.point()

    def page(self, spec: PageSpec, record: PageRecord, /) -> _Page:
        self.specs.append(spec)
        if spec.choices:
            self.offered.append(spec)
        return _Page(self, spec, record)

    def thinking(self, address: Address, _speaker: Speaker, active: bool, /, *, doing: str | None = None) -> None:
        self.doing.append(doing if active else None)
        self.works.append(active)
        self.typed_at += [address] if active else []

    def mark(self, address: Address, message_id: str, mark: Mark | None, /, *, done: Done = unheard) -> bool:
        if self.reacts and self.reached:
            self.marks.append((message_id, mark))
            self.marked_at.append((address, message_id, mark))
            self.tasks.start_soon(_done, done)
        return self.reacts

    async def open_thread(self, to: Address, title: str, /, *, nonce: str) -> Address | None:
        self.point()
        await self.may_open.wait()
        if self.fails_to_open is not None:
            raise self.fails_to_open
        if not self.has_threads:
            return None
        opened = self._opened.get(nonce) if self.nonce else None
        if opened is None:
            opened = self._opened[nonce] = Address(to.platform, to.conversation, f"t{len(self.threads) + 1}")
            self.threads[opened] = title
        self.point()
        return opened

    async def link(self, to: Address, /) -> str | None:
        return f"at:{to.key}"

    async def private_with(self, to: Address, person: str, /) -> Address | None:
        return Address(to.platform, f"alone with {person}")

    def settle(self, page: PageSpec, text: str, chosen: str, /, *, done: Done = unheard) -> None:
        if self.reached:
            self.settled.append(page)
            self.settled_texts.append(f"{text}\n\n{chosen}" if chosen else text)
            self.tasks.start_soon(_done, done)


class WorldPlaces(MemoryPlaceStore):
    """Places that outlive processes."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    async def put(self, place: Address, held: HeldPlace, /) -> None:
        self._world.point()
        await super().put(place, held)
        self._world.point()

    async def release(self, place: Address, session: SessionId, /) -> None:
        self._world.point()
        await super().release(place, session)
        self._world.point()


async def _done(done: Done) -> None:
    done(True)


class _Page(QuietPage):
    """Shows a page without any schedule: the first text in a task of its own, every later one when it comes."""

    def __init__(self, world: World, spec: PageSpec, record: PageRecord) -> None:
        self._world = world
        self._spec = spec
        self._record = record
        self._id = spec.parts.get(0)
        self._text = ""
        self._opening = False
        self._opened = anyio.Event()
        if self._id is not None:
            self._opened.set()

    def update(self, text: str, /) -> None:
        self._text = text
        if self._spec.address in self._world.gone:
            return
        if self._id is not None:
            self._world.edit(self._id, text)
        elif not self._opening:
            self._opening = True
            self._world.tasks.start_soon(self._open)

    async def _open(self) -> None:
        text = self._text
        with suppress(LeaseLost):  # the session has left memory, and this page ends
            await self._record.opening(0, text)
            self._id = self._world.send(self._spec, text)
            await self._record.sent(0, self._id)
            self._opened.set()

    async def finish(self, text: str, /) -> bool:
        self._text = text
        if self._spec.address in self._world.gone:
            await self._record.opening(0, text)
            self._world.point()
            return False
        if not self._opened.is_set() and not self._opening:
            self._opening = True
            await self._open()
        await self._opened.wait()
        assert self._id is not None
        self._world.edit(self._id, text)
        return True


@dataclass
class Scripted(LLMClient):
    """A model with a memory of what the person has heard: `turns` are lists of statements, one list a reply.

    After a crash it is asked again; then it goes on by `# resume`, repeats everything, or begins anew and is refused.
    """

    turns: Sequence[Sequence[str]]
    rng: random.Random
    model: str = "scripted"
    asked: list[CompletionRequest] = field(default_factory=list)

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[_Pieces]:
        self.asked.append(request)
        yield _Pieces(self._reply(request), self.rng)

    def _reply(self, request: CompletionRequest) -> str:
        turn = sum(message.role == "assistant" for message in request.messages)
        lines = list(self.turns[min(turn, len(self.turns) - 1)])
        last = request.messages[-1].content
        executed = [line for line in lines if f". {line}\n" in last + "\n"]
        if executed:
            count = len(executed)
            way = self.rng.choice(["resume", "repeat", "step"])
            if way == "resume":
                lines = [f"# resume: {count}", *lines[count:]]
        return "```python\n" + "\n".join(lines) + "\n```"


class _Pieces:
    """A reply in pieces of random size."""

    def __init__(self, text: str, rng: random.Random) -> None:
        self._text = text
        self._rng = rng
        self.usage = Usage()

    async def __aiter__(self) -> AsyncIterator[str]:
        rest = self._text
        while rest:
            size = self._rng.randrange(4, 30)
            await checkpoint()
            yield rest[:size]
            rest = rest[size:]


async def live(
    world: World, program: Program, llm: Scripted, sandbox: Sandbox, *, busy: Busy = "queue", **more: Any
) -> None:
    """Run processes one after the other, each until it crashes, until everybody was heard and nothing is going on.

    `more` are fields of the surroundings.
    """
    more["busy"] = {program.name: busy}
    while True:
        world.revive()
        try:
            if await _process(world, program, llm, sandbox, **more):
                return
        except BaseExceptionGroup as group:
            _only_crashes(group)
        except Crash:
            pass


def _only_crashes(group: BaseExceptionGroup[BaseException]) -> None:
    rest = group.split(Crash)[1]
    if rest is not None:
        raise rest


async def _ready(world: World, llm: Scripted) -> None:
    """Return when the next person may do something."""
    while world.hurried and not world.idle.is_set():
        if world.is_asked or (llm.asked and world.chat):
            return
        await checkpoint()
    await world.idle.wait()


def surroundings(more: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a context, of what a test says: those of features, habits and rest by their own names."""
    own = {name: more[name] for name in ("spent", "objection") if name in more}
    own |= {"places": more["task_places"]} if "task_places" in more else {}
    tasks = NodeTasks(more.get("tasks", TaskLimits()), **own)
    habits = {name: more[name] for name in ("busy", "models", "transcript_chars", "meetings", "seen") if name in more}
    rest = {} if "idle_s" not in more else {"resting": RestingSessions(idle_s=more["idle_s"])}
    extending = NodeExtensions(more.get("calls", {}), more.get("extended"))
    waiting = NodeParticipants(more.get("mailboxes", NoMailboxes()))
    tools = NodeTools(RemoteTools(more.get("servers") or RemoteServers(), more.get("tool_rules", ToolRules())))
    limits = [allowance_part(more["allowance"])] if "allowance" in more else []
    taken = {
        "servers",
        "tool_rules",
        "allowance",
        "task_places",
        "mailboxes",
        "tasks",
        "events",
        "features",
        "calls",
        "extended",
        "questions_alone",
        "idle_s",
        *own,
        *habits,
    }
    return {
        **rest,
        **{name: value for name, value in more.items() if name not in taken},
        "features": [
            tasks,
            tools,
            publishing_part(more.get("events")),
            *limits,
            *more.get("features", ()),
            waiting,
            extending,
        ],
        "habits": ProgramHabits(**habits, alone=more.get("questions_alone", False)),
    }


async def _process(world: World, program: Program, llm: Scripted, sandbox: Sandbox, **more: Any) -> bool:
    bus = Bus(world.clock)
    failures: list[BaseException] = []
    bus.subscribe("session.failed", lambda event: failures.append(event.data["cause"]))
    bus.subscribe("program.logged", lambda event: world.logged.append(event.data["line"]))
    programs = {program.name: program}
    around = NodeContext(
        programs,
        world,
        world,
        sandbox,
        llm,
        bus,
        places=world.places,
        **surroundings(
            with_files({"files": world.files, "servers": world.servers, "mailboxes": world.mailboxes, **more}, llm, bus)
        ),
    )
    lease = Lease(0, 1)
    async with anyio.create_task_group() as tasks:
        world.tasks = tasks
        registry = ConversationRegistry(around, world, tasks)
        world.player.done = world.look
        tasks.start_soon(world.player.run)
        world.hand_over = lambda _entry: None  # as a node, which reads the inbox when it has gained the shard
        world.idle = anyio.Event()
        await registry.gained(lease)
        for entry in world.waiting:
            registry.dispatch(entry, lease)
        world.hand_over = lambda entry: registry.dispatch(entry, lease)
        resting = not len(registry) and not world.mailboxes.waiting_now
        while True:
            if not resting:
                await _ready(world, llm)
            if unborne := [failure for failure in failures if not isinstance(failure, world.bears)]:
                raise unborne[0]
            arrived = world.arrive()
            if arrived is None:
                break
            resting = False
            registry.dispatch(arrived, lease)
        tasks.cancel_scope.cancel()
    return True
