"""The programs of a gateway: found by the settings, compiled, and as a process serves them now; and the servers of
their remote agents, reached as the settings allow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from gateway.catalog import platform_names
from gateway.extensions.loading import load_extensions
from gateway.inbound.commands import COMMANDS
from gateway.inbound.routing import Routes, build_routes, only
from gateway.packaged import packaged
from gateway.settings.tree import Settings, process_environment, remote_variables
from runtime.bus import Bus
from runtime.core.clock import Clock
from runtime.core.errors import ConfigError, RemoteUnavailable
from runtime.execution.calls.extensions import with_calls
from runtime.execution.calls.remote import NoRemoteServers, RemoteServers
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import AgentSpec, Program
from runtime.language.remote import RemoteSpec, participants, remote_of

Value = TypeVar("Value")


class ServedPrograms(Mapping[str, Program]):
    """The programs by name, as they are served now."""

    def __init__(self, programs: Mapping[str, Program]) -> None:
        self._programs = dict(programs)

    def __getitem__(self, name: str) -> Program:
        return self._programs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._programs)

    def __len__(self) -> int:
        return len(self._programs)

    def replace(self, programs: Mapping[str, Program]) -> None:
        """Serve these from now on."""
        self._programs = dict(programs)


class AsItIsNow(Mapping[str, Value]):
    """A mapping that is made anew whenever somebody looks."""

    def __init__(self, make: Callable[[], Mapping[str, Value]]) -> None:
        self._make = make

    def __getitem__(self, name: str) -> Value:
        return self._make()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._make())

    def __len__(self) -> int:
        return len(self._make())


def routes_of(settings: Settings, files: Sequence[Path] = ()) -> Routes:
    """The table of routes: one program of `files`, else the settings' routes, else the tour. Raises ConfigError."""
    if files:
        return only(files)
    if settings.route:
        return build_routes(settings.route, platforms=platform_names(settings), reserved=COMMANDS)
    return only([packaged("examples/tour.pb")])


async def compile_routes(settings: Settings, routes: Routes) -> dict[str, Program]:
    """Compile every program of the table, by name, with the calls of extensions. Raises ProgramError."""
    return {name: await compile_one(settings, files) for name, files in routes.files.items()}


async def compile_one(settings: Settings, files: Sequence[Path]) -> Program:
    """Compile the files of one program, with the calls of extensions. Raises ProgramError."""
    result = await compile_program(
        files,
        lowerer=RulesLowerer(),
        cache_dir=settings.data_dir / "compiled",
        with_locks=settings.compiler == "auto",
    )
    return completed(settings, result.program)


def completed(settings: Settings, program: Program) -> Program:
    """The program with the calls of extensions."""
    return with_calls(program, load_extensions(settings.extensions.modules).calls)


def remote_servers(
    settings: Settings, programs: Collection[Program], clock: Clock, bus: Bus, tasks: TaskGroup
) -> RemoteServers:
    """The servers of the programs' remote agents. Questions for their tools are on their way on return."""
    if not _remote(programs):
        return NoRemoteServers()
    from runtime.remote.pool import RemotePool
    from runtime.remote.server import RemoteOptions

    own = settings.remote
    options = RemoteOptions(
        own.connect_s,
        own.call_s,
        own.result_chars,
        own.commands,
        process_environment(),
        _variables(settings, programs),
    )
    pool = RemotePool(options, clock, bus, tasks)
    for program in programs:
        tasks.start_soon(pool.ready, program)
    return pool


def remote_lines(programs: Iterable[Program]) -> list[str]:
    """A line for each remote agent and for each agent that runs in another process."""
    programs = list(programs)
    lines = [f"remote     {agent.name}: {spec.shown}" for agent, spec in _remote(programs)]
    played = {klass: name for program in programs for klass, name in participants(program).items()}
    return [*lines, *(f"remote     {klass}: {name}, at /participants/{name}" for klass, name in played.items())]


def remote_secrets(settings: Settings, programs: Iterable[Program]) -> list[str]:
    """The values for the servers of the programs' remote agents, by name."""
    return list(_variables(settings, programs).values())


async def ask_servers(settings: Settings, programs: Collection[Program], clock: Clock) -> str | None:
    """Each remote agent with its server and tools, a line each; None when there is none.

    Raises RemoteUnavailable with all lines when one of them cannot be used.
    """
    if not _remote(programs):
        return None
    lines, well = [], True
    async with anyio.create_task_group() as tasks:
        servers = remote_servers(settings, programs, clock, Bus(clock), tasks)
        for program in programs:
            await servers.ready(program)
        for agent, spec in _remote(programs):
            trouble = servers.trouble(agent)
            tools = ", ".join(playbook.name for playbook in servers.equipped_agent(agent).playbooks)
            lines.append(f"{agent.name} ({spec.shown}): {trouble or tools or 'no tools'}")
            well = well and trouble is None
        tasks.cancel_scope.cancel()
    if not well:
        raise RemoteUnavailable("; ".join(lines))
    return "\n".join(lines)


def check_servers(before: Iterable[Program], now: Iterable[Program]) -> None:
    """Raise ConfigError for programs with remote agents that the programs of the start did not prepare for."""
    known, wanted = _remote(before), _remote(now)
    variables = {name for _, spec in known for name in spec.variables}
    for agent, spec in wanted:
        if not known or not variables >= set(spec.variables):
            raise ConfigError(
                f"{agent.span}: {agent.name} is a remote agent that was not there at the start; restart the gateway."
            )


def _remote(programs: Iterable[Program]) -> list[tuple[AgentSpec, RemoteSpec]]:
    agents = [agent for program in programs for agent in program.agents]
    return [(agent, spec) for agent in agents if (spec := remote_of(agent)) is not None]


def _variables(settings: Settings, programs: Iterable[Program]) -> dict[str, str]:
    return remote_variables(settings, {name for _, spec in _remote(programs) for name in spec.variables})
