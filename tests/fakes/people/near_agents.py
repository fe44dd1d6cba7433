"""Processes of isolated tasks that are none: each lives in this process, over a connection in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import anyio
from anyio.abc import TaskGroup

from gateway.isolation.agent.extensions import node_calls
from gateway.isolation.agent.files import NodeFiles, NodeIntake
from gateway.isolation.agent.living import live_over, memories_of
from gateway.isolation.agent.outbox import RemoteOutbox
from gateway.isolation.agent.servers import NodeServers
from gateway.isolation.agent.stores import RemoteInbox, RemoteStore, RemoteTimers
from gateway.isolation.handover import Confinement, Handover, Manner
from gateway.isolation.node.conversation import TaskConversation
from gateway.isolation.node.isolation import Isolated
from gateway.isolation.peer import Peer
from gateway.settings.programs.isolation import IsolationSettings
from runtime.bus import Bus
from runtime.core.clock import Clock
from runtime.core.texts import english
from runtime.execution.calls.extensions import with_calls
from runtime.execution.calls.remote import ToolRules
from runtime.execution.calls.task_limits import TaskLimits
from runtime.language.program import Program
from runtime.llm.client import LLMClient
from runtime.sandbox.executor import Sandbox
from runtime.sessions.idle.alarm import Alarm
from runtime.sessions.node_context import NodeContext, OpenConversation
from tests.fakes.links import MemoryLink, linked

KILLED = -9


class NearAgent:
    """One of them."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.code = KILLED
        self.gone = anyio.Event()
        self.lives = False

    async def ended(self) -> int:
        await self.gone.wait()
        return self.code

    async def kill(self) -> None:
        """Like kill -9: what it has not sent is lost."""
        self.scope.cancel()
        if self.lives:
            await self.gone.wait()


@dataclass
class NearAgents:
    """Launches them in the group that `tasks` says."""

    program: Program
    tasks: Callable[[], TaskGroup]
    model: LLMClient
    sandbox: Sandbox
    clock: Clock
    started: list[NearAgent] = field(default_factory=list)
    dies_at_once: int = 0
    """So many of the next ones die before they have done anything."""
    hangs: bool = False
    """Whether they do nothing, for ever."""
    rules: ToolRules = field(default_factory=ToolRules)
    """What the processes think of tools."""
    settings: IsolationSettings = field(default_factory=lambda: IsolationSettings(default="process"))

    def __post_init__(self) -> None:
        manner = Manner(
            texts=english().templates,
            language="en",
            idle_s=900.0,
            transcript_chars=100_000,
            questions_alone=False,
            models={"default": self.model.model},
            model_answer_s=60.0,
            limits=(3, 8, 600.0, 0, 0.0),
            places={},
            seen=False,
            statement_s=2.0,
            statement_bytes=64 * 1024 * 1024,
            jail_required=False,
            log_level="info",
            tools=self.rules,
        )
        self.isolated = Isolated(self.settings, {"process": self}, manner, "http://127.0.0.1:1")

    @property
    def conversations(self) -> OpenConversation:
        """Makes the conversations of tasks."""
        return partial(TaskConversation, isolated=self.isolated)

    @property
    def confinement(self) -> Confinement:
        return Confinement(False, (), 0, 0, 0)

    async def check(self) -> None:
        """They can always be had."""

    async def start(self, _name: str, handover: Handover) -> NearAgent:
        agent = NearAgent()
        self.started.append(agent)
        self.tasks().start_soon(self._live, agent, handover)
        return agent

    async def _live(self, agent: NearAgent, handover: Handover) -> None:
        run = self.isolated.tokens.holder(handover.token)
        assert run is not None
        near, far = linked()
        agent.lives = True
        try:
            with agent.scope:
                if self.dies_at_once:
                    self.dies_at_once -= 1
                    return
                if self.hangs:
                    await anyio.sleep_forever()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(run.attend, far)
                    agent.code = await self._code(near, handover)
                    tasks.cancel_scope.cancel()
        finally:
            near.close()
            far.close()
            agent.gone.set()

    async def _code(self, link: MemoryLink, handover: Handover) -> int:
        return await live_over(link, handover, self._around)

    @asynccontextmanager
    async def _around(self, handover: Handover, peer: Peer, outbox: RemoteOutbox) -> AsyncIterator[NodeContext]:
        store, inbox = RemoteStore(peer), RemoteInbox(peer)
        calls = node_calls(peer, handover.program.calls)
        yield NodeContext(
            {self.program.name: with_calls(self.program, calls)},
            store,
            outbox,
            self.sandbox,
            self.model,
            self.clock,
            Bus(self.clock),
            files=NodeFiles(peer),
            intake=NodeIntake(peer) if handover.program.reads else None,
            calls=calls,
            memories=memories_of(peer, handover, self.clock),
            servers=NodeServers(peer),
            tool_rules=handover.manner.tools,
            alarm=Alarm(RemoteTimers(peer), store, inbox, self.clock),
            tasks=TaskLimits(*handover.manner.limits),
        )
