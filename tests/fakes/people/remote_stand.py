"""Remote agents whose servers are real ones, and what the gateway hears of them."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from gateway.features.remote.node import RemotePool
from gateway.features.remote.tool_server import RemoteOptions
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.events.happening import BusEvent
from runtime.language.diagnostics import Span
from runtime.language.program import AgentKind, AgentSpec, Program
from tests.e2e.warm_starts import server_command

ROOT = Path(__file__).parents[3]
MINIMAL = {"PATH": os.environ["PATH"]}


def remote(name: str = "Weather", /, **said: Any) -> AgentSpec:
    """An agent with this `remote:` block."""
    span = Span(str(ROOT / "test.pb"), 1)
    return AgentSpec(name, AgentKind.MCP, span, metadata={"remote": {"type": "mcp", **said}})


def by_stdio(ledger: Path, *era: str, **more: Any) -> AgentSpec:
    """The server of the tests as a process; of the era "2025", or of today's."""
    command, *args = server_command("tests.fakes.protocols.mcp_server", str(ledger), *era)
    return remote(command=command, args=args, **more)


def served_by(ledger: Path) -> str:
    """The same as keys of a `remote:` block in a program's text."""
    command, *args = server_command("tests.fakes.protocols.mcp_server", str(ledger))
    return f"command: {command}\n  args: {json.dumps(args)}"


def by_http(port: int, **more: Any) -> AgentSpec:
    """The same behind a URL."""
    return remote(url=f"http://127.0.0.1:{port}/mcp", **more)


def in_memory(tmp_path: Path, **more: Any) -> AgentSpec:
    """The same in this process."""
    file = tmp_path / "weather_server.py"
    file.write_text(
        "from pathlib import Path\nfrom tests.fakes.protocols.mcp_server import Ledger, build\n"
        f"mcp = build(Ledger(Path({str(tmp_path / 'ledger')!r})))\n"
    )
    return remote(url=f"memory://{file}?var=mcp", **more)


@dataclass
class Stand:
    """A pool at work. `events` are what it told."""

    pool: RemotePool
    bus: Bus
    events: list[BusEvent] = field(default_factory=list)
    changed: anyio.Event = field(default_factory=anyio.Event)

    def hear(self, event: BusEvent) -> None:
        """Take note of an event."""
        self.events.append(event)
        changed, self.changed = self.changed, anyio.Event()
        changed.set()

    async def heard(self, name: str, **data: Any) -> BusEvent:
        """The first event of this name with these data, also when it came already."""
        while True:
            for event in self.events:
                if event.name == name and data.items() <= event.data.items():
                    return event
            await self.changed.wait()

    async def call(self, agent: AgentSpec, tool: str, *, key: str = "key-1", **arguments: Any) -> Any:
        """Call a tool as playbooks do."""
        await self.pool.ready_for(agent)
        found = self.pool.tool(agent, tool)
        assert found is not None, f"{tool} is not among {self.names(agent)}: {self.pool.trouble(agent)}"
        return await self.pool.call(agent, found, arguments, key=key)

    def names(self, agent: AgentSpec) -> list[str]:
        """The names of the agent's tools, as known now."""
        return [playbook.name for playbook in self.pool.equipped_agent(agent).playbooks]


@asynccontextmanager
async def standing(**options: Any) -> AsyncIterator[Stand]:
    """A pool with these options, until the block ends."""
    clock = SystemClock()
    bus = Bus(clock)
    async with anyio.create_task_group() as tasks:
        pool = RemotePool(RemoteOptions(**{"environment": MINIMAL, **options}), clock, bus, tasks)
        stand = Stand(pool, bus)
        bus.subscribe("*", stand.hear)
        yield stand
        tasks.cancel_scope.cancel()


def program_of(*agents: AgentSpec) -> Program:
    """A program of these agents."""
    return Program("test", agents, "", "")
