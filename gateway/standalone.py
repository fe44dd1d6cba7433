"""Execution of a program without a gateway: in memory, for one person at a terminal."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import TextIO, TypeAlias

import anyio
from anyio.abc import TaskGroup

from gateway.extensions.loading import load_extensions
from gateway.models.opening import check_programs, open_models
from gateway.observability.masking import Masking
from gateway.observability.tracing.setup import telling_spans
from gateway.parts import open_sandbox
from gateway.programs.tool_servers import remote_servers
from gateway.settings.tree import Settings, secrets
from runtime.bus import Bus
from runtime.channels.extensions import ExtendedChannels
from runtime.channels.outbox import Done, LivePage, PageRecord, PageSpec, unheard
from runtime.core.address import GATEWAY, Address, Speaker
from runtime.core.clock import SystemClock
from runtime.core.ids import FIRST_AGENT
from runtime.core.message import Mark
from runtime.core.texts import load_texts
from runtime.events.frames import FrameParked, FrameResumed, LLMFailed, SandboxFailed
from runtime.events.sessions import PlaybookFailed, ProgramLogged, SessionFailed
from runtime.execution.calls.extensions import with_calls
from runtime.language.program import Program
from runtime.sessions.conversation import Conversation
from runtime.sessions.node_context import NodeContext
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore, MemorySessionStore
from runtime.stores.inbox import InboxEvent, shard_of
from runtime.stores.sessions import Commit, Lease, LeaseHolder

HERE = Address("terminal", "standalone")
PERSON = "terminal:person"

_Failure: TypeAlias = PlaybookFailed | SessionFailed | LLMFailed | SandboxFailed
_FAILURES: Sequence[type[_Failure]] = (PlaybookFailed, SessionFailed, LLMFailed, SandboxFailed)
"""Events after which a chat would continue with the next message. A command has failed when its entry has."""

_ENTRY = str(FIRST_AGENT)
"""The agent whose playbook the command executes."""

_KIND = re.compile(r"\A(?:LLM\w*|NoModelSet|ContextTooLong): ")

ReadLine = Callable[[], Awaitable[str | None]]
"""The person's next line; None when there will be no more."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The outcome: "done", "failed", or "waiting" for a person who will say nothing more."""

    how: str
    why: str = ""


@dataclass(slots=True)
class Terminal:
    """The output on a terminal: agents' messages on `out`, everything else on `beside`."""

    out: TextIO
    beside: TextIO


async def execute(
    settings: Settings, program: Program, text: str, terminal: Terminal, read_line: ReadLine | None = None
) -> Ended:
    """Execute a program until it ends. `text` is what it begins with.

    Where it waits for the person, `read_line` is asked, if there is one. Needs a loop made by
    `runtime.execution.frames.loop.FrameLoop`. Raises ConfigError.
    """
    clock = SystemClock()
    bus = Bus(clock)
    masking = Masking(secrets(settings))
    bus.hear(ProgramLogged, lambda what, _: print(masking.masked(_line(what)), file=terminal.beside))
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(telling_spans(settings.tracing, bus, masking, HERE.key))
        llm, _ = await stack.enter_async_context(open_models(settings))
        sandbox = await stack.enter_async_context(open_sandbox(settings))
        tasks = await stack.enter_async_context(anyio.create_task_group())
        leases = MemoryLeaseStore(clock)
        inbox = MemoryInbox(leases)
        store = _Store(leases, inbox)
        failures: list[str] = []
        extensions = load_extensions(settings.extensions.modules)
        extended = ExtendedChannels(extensions.channels, bus)
        tasks.start_soon(extended.run)
        program = with_calls(program, extensions.calls)
        check_programs(settings, [program])
        around = NodeContext(
            {program.name: program},
            store,
            _Screen(terminal, failures, tasks),
            sandbox,
            llm,
            clock,
            bus,
            texts=load_texts(settings.language, settings.texts_dir),
            servers=remote_servers(settings, [program], clock, bus, tasks),
            tool_rules=settings.tools.as_rules,
            transcript_chars=settings.limits.transcript_chars,
            questions_alone=settings.asks_alone,
            tasks=None,
            extended=extended,
            calls=extensions.calls,
        )
        ended = await _Standalone(around, inbox, store, leases, failures).live(text, read_line)
        tasks.cancel_scope.cancel()
    return ended


def _line(what: ProgramLogged) -> str:
    """A line for the log about a program's line, for people."""
    return " ".join([what.line, *(f"{name}={value!r}" for name, value in what.values.items())])


class _Store(MemorySessionStore):
    """Sessions in memory that report when all work is finished."""

    def __init__(self, leases: MemoryLeaseStore, inbox: MemoryInbox) -> None:
        super().__init__(leases, inbox)
        self._entries = inbox
        self.calm = anyio.Event()
        self.ended = False

    async def commit(self, commit: Commit, /) -> None:
        await super().commit(commit)
        self.ended = self.ended or commit.end
        shard = commit.lease.shard
        if not await self.unfinished(shard) and not await self._entries.read({shard: "0"}, wait_s=0):
            self.calm.set()


class _Standalone:
    """One conversation, from its first message to its program's end."""

    def __init__(
        self,
        around: NodeContext,
        inbox: MemoryInbox,
        store: _Store,
        leases: MemoryLeaseStore,
        failures: list[str],
    ) -> None:
        self._around = around
        self._inbox = inbox
        self._store = store
        self._leases = leases
        self._shard = shard_of(HERE.key)
        self._sent = 0
        self._read = "0"
        self._failures = failures
        self._of_others: list[str] = []
        """Failures of agents other than the entry's: people read them beside the messages, and the entry continues."""
        self._waits: dict[str, str] = {}
        """The participants for which the frames of the entry's agent wait."""
        for kind in _FAILURES:
            around.bus.hear(kind, self._note_failure)
        around.bus.hear(FrameParked, self._note_wait)
        around.bus.hear(FrameResumed, self._note_going_on)

    async def live(self, text: str, read_line: ReadLine | None) -> Ended:
        token = await self._leases.acquire(f"shard:{self._shard}", LeaseHolder("standalone"))
        assert token is not None  # nobody else has this store
        lease = Lease(self._shard, token)
        conversation = Conversation(self._shard, HERE.key, lambda: lease, self._around, self._inbox)
        async with anyio.create_task_group() as tasks:
            await self._send(conversation, text)
            tasks.start_soon(conversation.run, None)
            ended = await self._until_end(conversation, read_line)
            tasks.cancel_scope.cancel()
        return ended

    async def _until_end(self, conversation: Conversation, read_line: ReadLine | None) -> Ended:
        while True:
            await self._store.calm.wait()
            if self._failures:
                return Ended("failed", self._failures[0])
            if self._store.ended:
                return Ended("done")
            if self._of_others and "people" not in self._waits.values():
                return Ended("failed", self._of_others[0])
            line = await read_line() if read_line is not None else None
            if line is None:
                return Ended("waiting", "it waits for somebody to say something")
            await self._send(conversation, line)

    async def _send(self, conversation: Conversation, text: str) -> None:
        self._sent += 1
        self._store.calm = anyio.Event()
        event = InboxEvent(str(self._sent), HERE, PERSON, "You", text, self._around.clock.now())
        await self._inbox.add(event)
        for entry in await self._inbox.read({self._shard: self._read}, wait_s=0):
            self._read = entry.entry_id
            conversation.put(entry)

    def _note_failure(self, what: _Failure, _at: datetime) -> None:
        """A failed command waits for nothing more, timers included."""
        error = _KIND.sub("", what.error)
        if _agent_of(what) != _ENTRY:
            self._of_others.append(error)
            return
        self._failures.append(error)
        self._store.calm.set()

    def _note_wait(self, what: FrameParked, _at: datetime) -> None:
        if _agent_in(what.frame) == _ENTRY:
            self._waits[what.frame] = what.waits_for

    def _note_going_on(self, what: FrameResumed, _at: datetime) -> None:
        self._waits.pop(what.frame, None)


def _agent_of(what: _Failure) -> str:
    """The agent of the playbook of an event: the caller's if others called it, the entry's for an event of the
    session.
    """
    if isinstance(what, SessionFailed):
        return _ENTRY
    return what.agent_id if isinstance(what, PlaybookFailed) else _agent_in(what.frame)


def _agent_in(frame: str) -> str:
    """The agent of the root frame above a frame."""
    return frame.partition(".")[0]


@dataclass(eq=False)
class _Screen:
    """Shows pages one after the other, in the order in which they were opened; the first one as it grows.

    What is said after the first of the `failures` is for chats, and not shown: the command ends with them.
    """

    terminal: Terminal
    failures: list[str]
    tasks: TaskGroup
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
                self.terminal.beside.write(f"  {number}. {choice.label}\n")
            self._open.pop(0)

    def _show(self, page: _Page) -> None:
        try:
            page.show(self.terminal.beside if page.spec.speaker == GATEWAY else self.terminal.out)
        except BrokenPipeError:
            return  # nobody reads it any more; the program goes on to its end
        except OSError as error:
            page.muted = True
            self.failures.append(f"its output cannot be written: {error.strerror}")

    def thinking(self, _address: Address, _speaker: Speaker, _active: bool, /, *, doing: str | None = None) -> None:
        """See `Outbox`; a terminal shows nothing."""

    def mark(self, _address: Address, _message_id: str, _mark: Mark | None, /, *, done: Done = unheard) -> bool:
        """Nothing: a terminal shows no reactions, and the work is visible."""
        self.tasks.start_soon(_say_so, done)
        return True

    async def open_thread(self, _to: Address, _title: str, /, *, nonce: str) -> Address | None:
        """See `Outbox`; a terminal has none."""
        return None

    async def link(self, _to: Address, /) -> str | None:
        """See `Outbox`; nothing leads to a terminal."""
        return None

    def settle(self, _page: PageSpec, _text: str, _chosen: str, /, *, done: Done = unheard) -> None:
        """See `Outbox`; what was printed stays."""
        self.tasks.start_soon(_say_so, done)


async def _say_so(done: Done) -> None:
    done(True)


class _Page:
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
        out.write(self._text[len(self._shown) :])
        self._shown = self._text
        if self.ended:
            out.write("\n")
        out.flush()

    def update(self, text: str, /) -> None:
        self._text = text
        self._screen.changed(self)

    def ends(self) -> None:
        """Nothing is opened beside a page here."""

    async def finish(self, text: str, /) -> bool:
        self._text, self.ended = text, True
        self._screen.changed(self)
        return True

    async def rest(self) -> None:
        """Every call ends at once."""

    def abandon(self) -> None:
        self.ended = True
        self._screen.changed(self)
