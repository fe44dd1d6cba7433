"""One run of a program: a real session in memory, with people who say their lines when it waits for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from traceback import format_exception_only
from typing import Any, TypeAlias

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

import gateway.built_in_calls  # noqa: F401 - those of features
from evals.models import Measured, Meter, Scripted
from evals.record import Happening, How, Record
from evals.screen import Screen
from evals.talks import PERSON, Call, Line, Talk
from gateway.capabilities import tried
from gateway.feature import TriedGround
from gateway.settings.tree import Settings
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.ids import SessionId
from runtime.core.texts import english
from runtime.events.frames import FrameOpened, LLMFailed, SandboxFailed
from runtime.events.sessions import PlaybookFailed, SessionFailed
from runtime.language.program import Program
from runtime.llm.client import LLMClient
from runtime.sandbox.executor import Sandbox
from runtime.sessions.conversation import ConversationTask
from runtime.sessions.features import alone
from runtime.sessions.node_context import NodeContext, ProgramHabits
from runtime.storage.memory.sessions import MemoryInbox, MemoryLeaseStore, MemorySessionStore
from runtime.stores.inbox import InboxEvent, shard_of
from runtime.stores.sessions import Commit, Lease, LeaseHolder
from runtime.tape.fold import apply_fact
from runtime.tape.state.session import SessionState

HERE = Address("evals", "conversation")

_Failure: TypeAlias = PlaybookFailed | SessionFailed | LLMFailed | SandboxFailed
_FAILURES: Sequence[type[_Failure]] = (PlaybookFailed, SessionFailed, LLMFailed, SandboxFailed)
_MOST_MESSAGES = 60
"""A run with more ends: a model that talks for ever costs time and shows nothing new."""


class Stage(Struct, frozen=True):
    """What runs share. `limit_s` is how long one may take; `alone`: the model is asked one question at a time."""

    sandbox: Sandbox
    clock: Clock
    limit_s: float = 900.0
    alone: bool = False


async def run_once(program: Program, talk: Talk, model: LLMClient, stage: Stage) -> Record:
    """Run `program` once with the people of `talk`, and say what happened.

    Needs a loop made by `runtime.execution.frames.loop.FrameLoop`.
    """
    meter = Meter(stage.clock)
    run = _Run(program, talk, Measured(model, meter), meter, stage)
    record = Record("too long", f"it took more than {stage.limit_s:g} s")
    with anyio.move_on_after(stage.limit_s):
        try:
            record.how, record.why = await run.live()
        except Exception as error:  # noqa: BLE001 - the runs after it are to be made whatever goes wrong in this one
            record.how, record.why = "failed", "".join(format_exception_only(error)).strip()
    await run.complete(record)
    record.replies_left = model.left if isinstance(model, Scripted) else 0
    return record


class _Store(MemorySessionStore):
    """Sessions in memory that say when something was written, and when nothing goes on."""

    def __init__(self, leases: MemoryLeaseStore, inbox: MemoryInbox) -> None:
        super().__init__(leases, inbox)
        self._entries = inbox
        self.written = anyio.Event()
        self.latest: SessionId | None = None
        self.ended = False

    async def commit(self, commit: Commit, /) -> None:
        await super().commit(commit)
        self.latest, self.ended = commit.session, self.ended or commit.end
        written, self.written = self.written, anyio.Event()
        written.set()

    async def calm(self, shard: int) -> bool:
        """Whether nothing goes on, and nothing waits to be taken."""
        return not await self.unfinished(shard) and not await self._entries.read({shard: "0"}, wait_s=0)

    async def state(self) -> SessionState:
        """What the facts of the latest session add up to."""
        state = SessionState()
        if self.latest is not None:
            async for fact in self.read_session(self.latest):
                apply_fact(state, fact)
        return state


class _Run:
    def __init__(self, program: Program, talk: Talk, model: Measured, meter: Meter, stage: Stage) -> None:
        self._program = program
        self._lines = list(talk.lines)
        self._private = len({line.by for line in talk.lines}) < 2
        self._meter = meter
        self._clock = stage.clock
        self._leases = MemoryLeaseStore(stage.clock)
        self._inbox = MemoryInbox(self._leases)
        self._store = _Store(self._leases, self._inbox)
        self._screen = Screen(meter, _MOST_MESSAGES, self._crowded)
        self._shard = shard_of(HERE.key)
        self._read = "0"
        self._sent = 0
        self._calls: list[Call] = []
        self._over: tuple[How, str] | None = None
        bus = Bus(stage.clock)
        bus.hear(FrameOpened, self._note_call)
        for kind in _FAILURES:
            bus.hear(kind, self._note_failure)
        self._around = NodeContext(
            {program.name: program},
            self._store,
            self._screen,
            stage.sandbox,
            model,
            bus,
            habits=ProgramHabits(alone=stage.alone),
            features=alone(tried(TriedGround(Settings(), program, stage.clock, model, bus, english()))),
        )

    async def live(self) -> tuple[How, str]:
        """How it ended, and why."""
        token = await self._leases.acquire(f"shard:{self._shard}", LeaseHolder("evals"))
        assert token is not None  # nobody else has this store
        lease = Lease(self._shard, token)
        conversation = ConversationTask(self._shard, HERE.key, lambda: lease, self._around, self._inbox)
        async with anyio.create_task_group() as tasks:
            self._screen.tasks = tasks
            await self._send(conversation, "", kind="start")
            ended = await self._until_end(conversation, tasks)
            tasks.cancel_scope.cancel()
        return ended

    async def _until_end(self, conversation: ConversationTask, tasks: TaskGroup) -> tuple[How, str]:
        tasks.start_soon(conversation.run, None)
        while True:
            written = self._store.written
            if self._over is not None:
                return self._over
            if self._store.ended and await self._store.calm(self._shard):
                return "ended", ""
            if not await self._store.calm(self._shard) or await self._waits_for_time():
                await written.wait()
            elif self._lines:
                await self._say(conversation, self._lines.pop(0))
            else:
                return "waiting", ""

    async def _waits_for_time(self) -> bool:
        """Whether it goes on by itself, when a time has come, and hears nobody before."""
        state = await self._store.state()
        return bool(state.waits) and all(wait.source is None and wait.due is not None for wait in state.waits.values())

    async def _say(self, conversation: ConversationTask, line: Line) -> None:
        self._screen.line += 1
        self._meter.course.append(Happening("person", f"{line.by}: {line.text}"))
        await self._send(conversation, line.text, by=line.by)

    async def _send(
        self, conversation: ConversationTask, text: str, *, by: str = PERSON, kind: str = "message"
    ) -> None:
        self._sent += 1
        self._meter.line_said()
        event = InboxEvent(
            str(self._sent),
            HERE,
            f"evals:{by}",
            by,
            text,
            self._clock.now(),
            kind=kind,
            message_id=f"m{self._sent}",
            private=self._private,
            program=self._program.name,
        )
        await self._inbox.add(event)
        for entry in await self._inbox.read({self._shard: self._read}, wait_s=0):
            self._read = entry.entry_id
            conversation.backlog.put(entry)

    async def complete(self, record: Record) -> None:
        """Add to the record what was said, called and set."""
        self._meter.ended(self._screen.chars)
        record.shown, record.calls, record.cost = self._screen.shown, self._calls, self._meter.cost
        record.course = self._meter.course
        record.unsaid = [line.text for line in self._lines]
        record.first_agent = self._program.agents[0].name
        state = await self._store.state()
        variables: dict[str, dict[str, Any]] = {}
        for agent in state.agents.values():
            variables.setdefault(agent.klass, {}).update(agent.variables)
        record.variables = variables

    def _note_call(self, what: FrameOpened, _at: datetime) -> None:
        if what.about.kind == "python":
            self._calls.append(Call(what.about.playbook, self._named(what), what.about.agent))
            self._meter.course.append(Happening("call", str(self._calls[-1])))

    def _named(self, what: FrameOpened) -> dict[str, Any]:
        """The arguments of a call by name."""
        given, about = what.arguments, what.about
        if isinstance(given, Mapping):
            return dict(given)
        found = (spec.playbooks for spec in self._program.agents if spec.name == about.agent)
        specs = (playbook for playbooks in found for playbook in playbooks if playbook.name == about.playbook)
        with suppress(StopIteration):
            return {param.name: value for param, value in zip(next(specs).params, given, strict=False)}
        return {str(number): value for number, value in enumerate(given)}

    def _note_failure(self, what: _Failure, _at: datetime) -> None:
        self._stop("failed", what.error)

    def _crowded(self) -> None:
        self._stop("too much", f"more than {_MOST_MESSAGES} messages")

    def _stop(self, how: How, why: str) -> None:
        self._over = self._over or (how, why)
        self._store.written.set()
