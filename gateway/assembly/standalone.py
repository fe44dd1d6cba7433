"""Execution of a program without a gateway: in memory, for one person at a terminal."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import TextIO, TypeAlias

import anyio
from msgspec import Struct
from msgspec.structs import replace

import gateway.built_in_calls  # noqa: F401 - those of features
from gateway.assembly.parts import open_sandbox
from gateway.capabilities import tried
from gateway.extensions.extension import load_extensions
from gateway.extensions.node import extending
from gateway.feature import TriedGround
from gateway.models.opening import check_programs, open_models
from gateway.observability.tracing.setup import telling_spans
from gateway.observability.watching import SecretMasking
from gateway.settings.tree import Settings, secrets
from runtime.bus import Bus
from runtime.channels.outbox import LivePage, QuietPage, TextsAlone
from runtime.core.address import GATEWAY, Address
from runtime.core.clock import SystemClock
from runtime.core.ids import FIRST_AGENT, SessionId
from runtime.core.page import PageRecord, PageSpec
from runtime.core.plain_text import visible
from runtime.core.texts import load_texts
from runtime.events.frames import FrameResumed, FrameWaiting, LLMFailed, SandboxFailed
from runtime.events.sessions import PlaybookFailed, ProgramLogged, SessionFailed
from runtime.execution.calls.remote import with_calls
from runtime.language.program import Program
from runtime.sessions.features import alone
from runtime.sessions.node_context import NodeContext, ProgramHabits
from runtime.sessions.registry import ConversationRegistry
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore, MemorySessionStore
from runtime.stores.inbox import InboxEntry, InboxEvent
from runtime.stores.sessions import SHARDS, Commit, Lease, LeaseHolder
from runtime.tape.facts.registry import read_as
from runtime.tape.facts.tasks import OrderAsks

HERE = Address("terminal", "standalone")
PERSON = "terminal:person"

_Failure: TypeAlias = PlaybookFailed | SessionFailed | LLMFailed | SandboxFailed
_FAILURES: Sequence[type[_Failure]] = (PlaybookFailed, SessionFailed, LLMFailed, SandboxFailed)
"""Events after which a chat would continue with the next message. A command has failed when its entry has."""

_ENTRY = str(FIRST_AGENT)
"""The agent whose playbook the command executes."""

_READ_S = 30.0

_KIND = re.compile(r"\A(?:LLM\w*|NoModelSet|ContextTooLong): ")

ReadLine = Callable[[], Awaitable[str | None]]
"""The person's next line; None when there will be no more."""


class StandaloneOutcome(Struct, frozen=True):
    """The outcome: "done", "failed", or "waiting" for a person who will say nothing more."""

    how: str
    why: str = ""


class TerminalOutput(Struct):
    """The output on a terminal: agents' messages on `out`, everything else on `beside`."""

    out: TextIO
    beside: TextIO


async def execute(
    settings: Settings, program: Program, text: str, terminal: TerminalOutput, read_line: ReadLine | None = None
) -> StandaloneOutcome:
    """Execute a program until it ends. `text` is what it begins with.

    Where it waits for the person, `read_line` is asked, if there is one. Needs a loop made by
    `runtime.execution.frames.loop.FrameLoop`. Raises ConfigError.
    """
    clock = SystemClock()
    bus = Bus(clock)
    masking = SecretMasking(secrets(settings))
    bus.hear(ProgramLogged, lambda what, _: print(masking.masked(_line(what)), file=terminal.beside))
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(telling_spans(settings.tracing, bus, masking, HERE.key))
        llm, _ = await stack.enter_async_context(open_models(settings))
        sandbox = await stack.enter_async_context(open_sandbox(settings))
        tasks = await stack.enter_async_context(anyio.create_task_group())
        leases = MemoryLeaseStore(clock)
        inbox = _Inbox(leases)
        store = _Store(leases, inbox)
        inbox.on_dismissed = store.look
        failures: list[str] = []
        extensions = load_extensions(settings.extensions.modules)
        program = with_calls(program, extensions.calls)
        check_programs(settings, [program])
        texts = load_texts(settings.language, settings.texts_dir)
        around = NodeContext(
            {program.name: program},
            store,
            _Screen(terminal, failures, tasks=tasks),
            sandbox,
            llm,
            bus,
            texts=texts,
            habits=ProgramHabits(transcript_chars=settings.limits.transcript_chars, alone=settings.asks_alone),
            features=[
                *alone(tried(TriedGround(settings, program, clock, llm, bus, texts, tasks=tasks))),
                extending(extensions, bus, tasks),
            ],
        )
        ended = await _Standalone(around, inbox, store, leases, failures).live(text, read_line)
        tasks.cancel_scope.cancel()
    return ended


def _line(what: ProgramLogged) -> str:
    """A line for the log about a program's line, for people."""
    return " ".join([what.line, *(f"{name}={value!r}" for name, value in what.values.items())])


class _Inbox(MemoryInbox):
    on_dismissed: Callable[[], Awaitable[None]]

    async def dismiss(self, entry: InboxEntry, token: int, /) -> None:
        await super().dismiss(entry, token)
        await self.on_dismissed()


class _Store(MemorySessionStore):
    """Sessions in memory. `calm` is set when all work is finished, or a task has asked the person something: it is in
    `asks`, the oldest first, and goes on with its time limit.
    """

    def __init__(self, leases: MemoryLeaseStore, inbox: MemoryInbox) -> None:
        super().__init__(leases, inbox)
        self._entries = inbox
        self.calm = anyio.Event()
        self.here: SessionId | None = None
        """The session of the conversation; all others are those of tasks."""
        self.ended = False
        self.asks: dict[str, SessionId] = {}

    async def commit(self, commit: Commit, /) -> None:
        await super().commit(commit)
        if commit.begin is not None and commit.begin.address == HERE:
            self.here = commit.session
        for fact in commit.facts:
            asked = read_as(fact, OrderAsks)
            if asked is not None and asked.over:
                self.asks.pop(asked.ask, None)
            elif asked is not None:
                self.asks[asked.ask] = commit.session
        if commit.end:
            self.asks = {ask: asker for ask, asker in self.asks.items() if asker != commit.session}
            self.ended = self.ended or commit.session == self.here
        await self.look()

    async def look(self) -> None:
        """Set `calm` if it is so."""
        if self.asks or not (await self._at_work() or await self._waiting()):
            self.calm.set()

    async def _at_work(self) -> bool:
        return any([await self.unfinished(shard) for shard in range(SHARDS)])

    async def _waiting(self) -> bool:
        return bool(await self._entries.read(dict.fromkeys(range(SHARDS), "0"), wait_s=0))


@dataclass(eq=False)
class _Standalone:
    """One conversation with its tasks, from its first message to its program's end."""

    _around: NodeContext
    _inbox: MemoryInbox
    _store: _Store
    _leases: MemoryLeaseStore
    _failures: list[str]
    _held: dict[int, Lease] = field(default_factory=dict)
    _sent: int = 0
    _of_others: list[str] = field(default_factory=list)
    """Failures of agents other than the entry's: people read them beside the messages, and the entry continues."""
    _waits: dict[str, str] = field(default_factory=dict)
    """The participants for which the frames of the entry's agent wait."""

    def __post_init__(self) -> None:
        for kind in _FAILURES:
            self._around.bus.hear(kind, self._note_failure)
        self._around.bus.hear(FrameWaiting, self._note_wait)
        self._around.bus.hear(FrameResumed, self._note_going_on)

    async def live(self, text: str, read_line: ReadLine | None) -> StandaloneOutcome:
        for shard in range(SHARDS):
            token = await self._leases.acquire(f"shard:{shard}", LeaseHolder("standalone"))
            assert token is not None  # nobody else has this store
            self._held[shard] = Lease(shard, token)
        async with anyio.create_task_group() as tasks:
            registry = ConversationRegistry(self._around, self._inbox, tasks)
            tasks.start_soon(self._hand_over, registry)
            await self._send(text)
            ended = await self._until_end(read_line)
            tasks.cancel_scope.cancel()
        return ended

    async def _hand_over(self, registry: ConversationRegistry) -> None:
        """Bring what is said, ordered and answered to its session."""
        cursors = dict.fromkeys(self._held, "0")
        while True:
            for entry in await self._inbox.read(cursors, wait_s=_READ_S):
                cursors[entry.shard] = entry.entry_id
                registry.dispatch(entry, self._held[entry.shard])

    async def _until_end(self, read_line: ReadLine | None) -> StandaloneOutcome:
        while True:
            await self._store.calm.wait()
            if self._failures:
                return StandaloneOutcome("failed", self._failures[0])
            if self._store.ended:
                return StandaloneOutcome("done")
            if self._of_others and "people" not in self._waits.values():
                return StandaloneOutcome("failed", self._of_others[0])
            line = await read_line() if read_line is not None else None
            if line is None:
                return StandaloneOutcome("waiting", "it waits for somebody to say something")
            await self._send(line)

    async def _send(self, text: str) -> None:
        """A line is for the conversation where that waits for one, else for the oldest question of a task."""
        self._sent += 1
        self._store.calm = anyio.Event()
        program, now = next(iter(self._around.programs)), self._around.clock.now()
        event = InboxEvent(str(self._sent), HERE, PERSON, "You", text, now, program=program)
        ask = next(iter(self._store.asks), None)
        if ask is not None and "people" not in self._waits.values():
            event = replace(event, choice=f"{ask}.")
            del self._store.asks[ask]
        await self._inbox.add(event)

    def _note_failure(self, what: _Failure, _at: datetime) -> None:
        """A failed command waits for nothing more, timers included. That a task failed is its result."""
        error = _KIND.sub("", what.error)
        if self._is_of_task(what.session_id) and isinstance(what, PlaybookFailed | SessionFailed):
            return
        if _agent_of(what) != _ENTRY:
            self._of_others.append(error)
            return
        self._failures.append(error)
        self._store.calm.set()

    def _note_wait(self, what: FrameWaiting, _at: datetime) -> None:
        if _agent_in(what.frame) == _ENTRY and not self._is_of_task(what.session_id):
            self._waits[what.frame] = what.waits_for

    def _note_going_on(self, what: FrameResumed, _at: datetime) -> None:
        if not self._is_of_task(what.session_id):
            self._waits.pop(what.frame, None)

    def _is_of_task(self, session: str) -> bool:
        return self._store.here not in (None, session)


def _agent_of(what: _Failure) -> str:
    """The agent of the playbook of an event: the caller's if others called it, the entry's for an event of the
    session.
    """
    if isinstance(what, SessionFailed):
        return _ENTRY
    return what.agent_id if isinstance(what, PlaybookFailed) else _agent_in(what.frame)


def _agent_in(frame: str) -> str:
    return frame.partition(".")[0]


@dataclass(eq=False)
class _Screen(TextsAlone):
    """Shows pages one after the other, in the order in which they were opened; the first one as it grows.

    What is said after the first of the `failures` is for chats, and not shown: the command ends with them.
    """

    terminal: TerminalOutput
    failures: list[str]
    _open: list[_Page] = field(default_factory=list)

    def page(self, spec: PageSpec, _record: PageRecord, /) -> LivePage:
        page = _Page(self, spec, muted=bool(self.failures))
        self._open.append(page)
        return page

    def changed(self, page: _Page) -> None:
        """Show everything that can be shown now that `page` has a new text or has ended."""
        while self._open and (first := self._open[0]):
            if not first.muted:
                self._show(first)
            if not first.ended:
                return
            for number, choice in enumerate((one for one in first.spec.choices if not one.free), 1):
                self.terminal.beside.write(f"  {number}. {visible(choice.label)}\n")
            self._open.pop(0)

    def _show(self, page: _Page) -> None:
        try:
            page.show(self.terminal.beside if page.spec.speaker == GATEWAY else self.terminal.out)
        except BrokenPipeError:
            return  # nobody reads it any more; the program goes on to its end
        except OSError as error:
            page.muted = True
            self.failures.append(f"its output cannot be written: {error.strerror}")


class _Page(QuietPage):
    def __init__(self, screen: _Screen, spec: PageSpec, *, muted: bool) -> None:
        self.spec = spec
        self.muted = muted
        self.ended = False
        self._screen = screen
        self._text = ""
        self._shown = ""

    def show(self, out: TextIO) -> None:
        """Print what is new. A text that does not continue what was shown starts on a new line."""
        if not self._text.startswith(self._shown):
            out.write("\n")
            self._shown = ""
        new = self._text[len(self._shown) :]
        out.write(visible(new) if out.isatty() else new)
        self._shown = self._text
        if self.ended:
            out.write("\n")
        out.flush()

    def update(self, text: str, /) -> None:
        self._text = text
        self._screen.changed(self)

    async def finish(self, text: str, /) -> bool:
        self._text, self.ended = text, True
        self._screen.changed(self)
        return True

    def abandon(self) -> None:
        self.ended = True
        self._screen.changed(self)
