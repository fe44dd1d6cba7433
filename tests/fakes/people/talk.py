"""A conversation that a test holds step by step, with a model whose replies it gives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel

from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.errors import LLMError
from runtime.core.json_text import plain_data
from runtime.core.message import Attachment
from runtime.events.happening import BusEvent
from runtime.language.program import Program
from runtime.llm.client import ChatMessage, CompletionRequest, LLMClient, Usage
from runtime.sandbox.executor import Sandbox
from runtime.sandbox.monty import MontySandbox, SandboxLimits
from runtime.sessions.node_context import NodeContext
from runtime.sessions.registry import ConversationRegistry
from runtime.stores.inbox import InboxEntry, InboxEvent
from runtime.stores.sessions import Lease
from tests.fakes.crashes.world import ADDRESS, World, surroundings
from tests.fakes.files_and_voices import with_files


@dataclass(frozen=True)
class Reply:
    """What the model answers, in pieces of `piece` characters. `breaks` ends it early; `gate` is waited for between the
    two halves."""

    text: str
    breaks: LLMError | None = None
    gate: anyio.Event | None = None
    piece: int = 7
    usage: Usage = field(default_factory=Usage)


def block(*lines: str) -> Reply:
    """A reply of these statements."""
    return Reply("```python\n" + "\n".join(lines) + "\n```")


class Model(LLMClient):
    """Gives its replies one after the other, whoever asks. `asked` are the requests."""

    def __init__(self, *replies: Reply | LLMError) -> None:
        self._replies = list(replies)
        self.asked: list[tuple[ChatMessage, ...]] = []
        self.writing = anyio.Event()
        self.model = "scripted"
        self.hung_up = 0
        """Requests that have ended, whole or not."""

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[_Pieces]:
        self.asked.append(request.messages)
        if not self._replies:
            raise AssertionError(f"the model is asked too often: {request.messages[-1].content}")
        reply = self._replies.pop(0)
        if isinstance(reply, LLMError):
            raise reply
        try:
            yield _Pieces(reply, self.writing)
        finally:
            self.hung_up += 1

    @property
    def left(self) -> int:
        """Replies that were not asked for."""
        return len(self._replies)

    def told(self, index: int) -> str:
        """The last message of a request."""
        return self.asked[index][-1].content


class _Pieces:
    def __init__(self, reply: Reply, writing: anyio.Event) -> None:
        self._reply = reply
        self._writing = writing
        self.usage = reply.usage

    async def __aiter__(self) -> AsyncIterator[str]:
        text, middle = self._reply.text, len(self._reply.text) // 2
        for start in range(0, len(text), self._reply.piece):
            await anyio.lowlevel.checkpoint()
            if start >= middle and self._reply.gate is not None:
                self._writing.set()
                await self._reply.gate.wait()
            yield text[start : start + self._reply.piece]
        if self._reply.breaks is not None:
            raise self._reply.breaks


@dataclass
class Talk:
    """The running conversation."""

    world: World
    registry: ConversationRegistry
    events: list[BusEvent]
    program: str
    """What begins with what people do."""
    _count: int = field(default=0)

    @property
    def chat(self) -> list[str]:
        """What people see now."""
        return [shown.text for shown in self.world.chat]

    @property
    def speakers(self) -> list[str]:
        """Who said it."""
        return [shown.speaker for shown in self.world.chat]

    def post(
        self,
        text: str,
        *,
        name: str = "Ada",
        files: Sequence[Attachment] = (),
        at: Address = ADDRESS,
        **more: Any,
    ) -> None:
        """Somebody does something; nobody waits for what comes of it. `more` are fields of the event."""
        self._count += 1
        event = InboxEvent(
            str(self._count),
            at,
            more.pop("person_id", f"test:{name}"),
            name,
            text,
            self.world.clock.now(),
            attachments=tuple(plain_data(file) for file in files),
            **({"message_id": f"m{self._count}", "program": self.program} | more),
        )
        entry = InboxEntry(0, str(self.world.taken_in + 1), event)
        self.world.take_in(entry)
        self.registry.dispatch(entry, Lease(0, 1))

    async def say(self, text: str, *, name: str = "Ada", files: Sequence[Attachment] = (), **more: Any) -> list[str]:
        """Somebody does something; what people see when all has become quiet, since then."""
        before = len(self.world.chat)
        self.post(text, name=name, files=files, **more)
        await self.world.idle.wait()
        return self.chat[before:]

    async def settled(self) -> None:
        """Return when sessions have taken all that was posted."""
        while self.world.waiting:
            await anyio.lowlevel.checkpoint()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when `condition` holds."""
        while not condition():
            await anyio.lowlevel.checkpoint()

    async def rested(self) -> None:
        """Return when no session is in memory."""
        while len(self.registry):
            await anyio.lowlevel.checkpoint()

    def facts(self, *kinds: str) -> list[object]:
        """The data of the facts of these kinds."""
        return [fact.data for fact in self.world.facts if fact.kind in kinds]

    def named(self, event: str) -> Sequence[BusEvent]:
        """The events of this name."""
        return [seen for seen in self.events if seen.name == event]


def patient_workers() -> MontySandbox:
    """Real workers, whose patience a machine that stalls does not try."""
    return MontySandbox(limits=SandboxLimits(feed_s=5.0))


@asynccontextmanager
async def talking(
    program: Program | Mapping[str, Program],
    model: LLMClient,
    sandbox: Sandbox | None = None,
    *,
    world: World | None = None,
    after: str | Sequence[str] = (),
    **more: Any,
) -> AsyncIterator[Talk]:
    """A process that runs until the block ends. Give `world` again to go on in another one, `sandbox` where many share
    one. The block begins `after` Ada has said this.

    `more` are fields of the surroundings, and what `with_files` makes features of.
    """
    world = world or World(())
    bus = Bus(world.clock)
    events: list[BusEvent] = []
    bus.subscribe("*", events.append)
    programs = {program.name: program} if isinstance(program, Program) else program
    more = with_files({"mailboxes": world.mailboxes, **more}, model, bus)
    async with nullcontext(sandbox) if sandbox else patient_workers() as workers, anyio.create_task_group() as tasks:
        around = NodeContext(programs, world, world, workers, model, bus, **surroundings(more))
        world.player.done = world.look
        tasks.start_soon(world.player.run)
        world.tasks = tasks
        world.idle = anyio.Event()
        registry = ConversationRegistry(around, world, tasks)
        world.hand_over = lambda entry: registry.dispatch(entry, Lease(0, 1))
        await registry.gained(Lease(0, 1))
        talk = Talk(world, registry, events, next(iter(programs)), _count=world.taken_in)
        for said in [after] if isinstance(after, str) else after:
            await talk.say(said)
        yield talk
        tasks.cancel_scope.cancel()


async def answered(program: Program | Mapping[str, Program], model: LLMClient, text: str, **more: Any) -> list[str]:
    """What people see of a talk in which Ada says one thing."""
    async with talking(program, model, **more) as talk:
        return await talk.say(text)
