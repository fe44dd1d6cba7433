"""The life of a task in its process: the conversation that a node would have in memory, over a connection to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import anyio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from gateway.isolation.agent.extensions import node_calls
from gateway.isolation.agent.files import NodeFiles, NodeIntake
from gateway.isolation.agent.memories import NodeMemories, NodeSilence
from gateway.isolation.agent.models import door_clients
from gateway.isolation.agent.outbox import RemoteOutbox
from gateway.isolation.agent.servers import NodeServers
from gateway.isolation.agent.stores import RemoteInbox, RemoteStore, RemoteTimers, RemoteVersions
from gateway.isolation.forms import ENTRIES, ENTRY, RECORD
from gateway.isolation.handover import CUT_OFF, FENCED, OVER, PATH, Handover, Manner
from gateway.isolation.peer import MESSAGE_CHARS, Link, Peer
from gateway.observability.logs import LogOptions, Logs
from gateway.observability.masking import Masking
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import LeaseLost, SandboxError
from runtime.core.texts import Texts
from runtime.execution.calls.extensions import with_calls
from runtime.execution.calls.task_limits import TaskLimits
from runtime.language.pbasm.notation import read
from runtime.llm.models import Models
from runtime.llm.sight import Sight
from runtime.memories.books import Memories, MemoryLimits
from runtime.sandbox.executor import Evaluation, Snippet
from runtime.sandbox.monty import MontySandbox, SandboxLimits
from runtime.sandbox.wrapping import wrap_worker
from runtime.sessions.conversation import Conversation
from runtime.sessions.idle.alarm import Alarm
from runtime.sessions.node_context import NodeContext, Spent
from runtime.stores.sessions import Lease

_OPEN_S = 30.0

_NODE_DELETES_DAYS = 365.0 * 100
"""Memories that are too old the node deletes, and not the process."""


MakeContext = Callable[[Handover, Peer, RemoteOutbox], AbstractAsyncContextManager[NodeContext]]
"""Makes what a session has around it, for as long as it lives."""


async def live(handover: Handover) -> int:
    """Execute the task until nothing is left to do now; the exit code of the process."""
    reached = urlsplit(handover.url)
    url = f"ws://{handover.host or reached.netloc}{PATH}"
    headers = {"Authorization": f"Bearer {handover.token}"}
    opened = connect(
        url,
        host=reached.hostname,
        port=reached.port,
        additional_headers=headers,
        proxy=None,
        compression=None,
        max_size=MESSAGE_CHARS,
        open_timeout=_OPEN_S,
    )
    async with opened as socket:
        return await live_over(_Link(socket), handover, around_of)


async def live_over(link: Link, handover: Handover, around: MakeContext) -> int:
    """Execute the task over a connection to its node; the exit code. `around` makes what its session has around it."""
    code = CUT_OFF
    async with anyio.create_task_group() as tasks:
        outbox = RemoteOutbox(tasks)
        at_work = _AtWork()
        peer = outbox.peer = Peer(link, {**outbox.table(), **at_work.table()})
        tasks.start_soon(_until_cut_off, peer, tasks.cancel_scope)
        async with around(handover, peer, outbox) as context:
            code = await at_work.run(handover, context, peer)
            if code == OVER:
                await peer.call("over")
        tasks.cancel_scope.cancel()
    return code


async def _until_cut_off(peer: Peer, scope: anyio.CancelScope) -> None:
    await peer.run()
    scope.cancel()


class _AtWork:
    """The conversation, and what its node tells it."""

    def __init__(self) -> None:
        self._conversation: Conversation | None = None
        self._scope = anyio.CancelScope()

    def table(self) -> dict[str, Any]:
        """What the node calls."""
        return {"entry": self._entry, "come_to_rest": self._come_to_rest}

    async def run(self, handover: Handover, around: NodeContext, peer: Peer) -> int:
        lease, inbox = Lease(handover.shard, handover.epoch), RemoteInbox(peer)
        made = Conversation(handover.shard, handover.conversation, lambda: lease, around, inbox)
        record, entries = await peer.call("begin")
        for entry in ENTRIES.read(entries):
            made.put(entry)
        self._conversation = made
        ours = True
        with self._scope:
            try:
                ours = await made.run(RECORD.read(record))
                while ours and made.waiting:
                    ours = await made.run(None)
            except LeaseLost:
                ours = False
        return OVER if ours else FENCED

    async def _entry(self, data: Any) -> None:
        assert self._conversation is not None  # the node waits for `begin`
        self._conversation.put(ENTRY.read(data))

    async def _come_to_rest(self, data: Any) -> None:
        within_s, written_within_s = data
        if self._conversation is not None:
            await self._conversation.come_to_rest(within_s, written_within_s)
        self._scope.cancel()


@asynccontextmanager
async def around_of(handover: Handover, peer: Peer, outbox: RemoteOutbox) -> AsyncIterator[NodeContext]:
    """What the task's session has around it: of a node, what needs no secret."""
    clock, manner, given = SystemClock(), handover.manner, handover.program
    bus = Bus(clock)
    Logs(LogOptions(manner.log_level, "auto"), Masking([handover.token])).attach(bus)
    store, inbox = RemoteStore(peer), RemoteInbox(peer)
    async with (
        door_clients(handover, manner.models, partial(_sees, peer)) as models,
        _Statements(manner) as sandbox,
    ):
        llm, calls = Models(models), node_calls(peer, given.calls)
        yield NodeContext(
            {given.name: with_calls(read(given.pbasm, given.name), calls)},
            store,
            outbox,
            sandbox,
            llm,
            clock,
            bus,
            idle_s=manner.idle_s,
            texts=Texts(manner.language, manner.texts),
            busy={given.name: given.busy},
            models={given.name: given.model},
            allowance=partial(_allowance, peer),
            spent=partial(_spent, peer),
            files=NodeFiles(peer),
            intake=NodeIntake(peer) if given.reads else None,
            sight=Sight(llm),
            calls=calls,
            memories=memories_of(peer, handover, clock),
            servers=NodeServers(peer),
            tool_rules=manner.tools,
            alarm=Alarm(RemoteTimers(peer), store, inbox, clock),
            transcript_chars=manner.transcript_chars,
            questions_alone=manner.questions_alone,
            tasks=TaskLimits(*manner.limits),
            task_places={name: Address(*place) for name, place in manner.places.items()},  # type: ignore[arg-type]
            versions=RemoteVersions(peer, given.name, calls),
            seen=manner.seen,
        )


def memories_of(peer: Peer, handover: Handover, clock: Clock) -> Memories | None:
    """The memories that the task may recall; None for none."""
    given = handover.program
    if not given.told:
        return None
    limits = MemoryLimits(told=given.told, keep_days=_NODE_DELETES_DAYS)
    return Memories(NodeMemories(peer), clock, {given.name: True}, NodeSilence(), limits)


async def _sees(peer: Peer, model: str) -> bool:
    return bool(await peer.call("sees", model))


async def _allowance(peer: Peer, _address: Address, _person: str | None) -> str | None:
    refused: str | None = await peer.call("allowance")
    return refused


async def _spent(peer: Peer, _task: str) -> Spent:
    return Spent(*await peer.call("spent"))


class _Link:
    """The connection to the node, as `Peer` takes it."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def receive(self) -> str | None:
        try:
            return str(await self._socket.recv())
        except ConnectionClosed:
            return None

    async def send(self, frame: str, /) -> None:
        try:
            await self._socket.send(frame)
        except ConnectionClosed:
            return


class _Statements:
    """The sandbox for what models write, whose workers start with the first statement: most tasks of Python alone have
    none."""

    def __init__(self, manner: Manner) -> None:
        self._manner = manner
        self._stack = AsyncExitStack()
        self._opening = anyio.Lock()
        self._sandbox: MontySandbox | None = None

    async def __aenter__(self) -> _Statements:
        await self._stack.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> None:
        await self._stack.__aexit__(*exception)

    @asynccontextmanager
    async def evaluate(self, snippet: Snippet, /) -> AsyncIterator[Evaluation]:
        async with (await self._opened()).evaluate(snippet) as evaluation:
            yield evaluation

    async def _opened(self) -> MontySandbox:
        async with self._opening:
            if self._sandbox is None:
                wrapping = await wrap_worker(Path(self._stack.enter_context(TemporaryDirectory(prefix="parley-"))))
                if self._manner.jail_required and not wrapping.jailed:
                    raise SandboxError(f"sandbox.jail is required, and {wrapping.reason}")
                limits = SandboxLimits(feed_s=self._manner.statement_s, memory_bytes=self._manner.statement_bytes)
                made = MontySandbox(max_workers=1, limits=limits, wrapping=wrapping)
                self._sandbox = await self._stack.enter_async_context(made)
            return self._sandbox
