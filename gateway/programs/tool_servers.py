"""The servers of programs' remote agents, reached as the settings allow."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import anyio
from anyio.abc import TaskGroup

from gateway.settings.tree import Settings, process_environment, remote_variables
from runtime.bus import Bus
from runtime.core.clock import Clock
from runtime.core.errors import ConfigError, RemoteUnavailable
from runtime.execution.calls.remote import NoRemoteServers, RemoteServers
from runtime.language.participants import participants
from runtime.language.program import AgentSpec, Program
from runtime.language.remote import RemoteSpec, remote_of


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
