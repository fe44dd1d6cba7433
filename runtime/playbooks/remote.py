"""Playbooks that are tools of a remote agent's server: each call is an outside effect on its caller's stack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.core.errors import (
    PlaybookError,
    RemoteError,
    RemoteFault,
    RemoteTimeout,
    RemoteUnavailable,
    ToolFailed,
)
from runtime.execution.calls.remote import RemoteServers, RemoteTool
from runtime.execution.frames.frame import Call, Frame
from runtime.execution.frames.outside import Effect, Outside
from runtime.language.program import AgentSpec
from runtime.tape.journal import as_data

REMOTE_ERRORS = (RemoteError, ToolFailed, RemoteFault, RemoteTimeout, RemoteUnavailable)
"""What calls may raise, besides OutcomeUnknown and PlaybookError; an author's code knows them by name."""

_REPEATABLE = "repeatable"


class RemotePlaybook:
    """One tool. A call that a restart interrupted is repeated where that does no harm, else its outcome is unknown.

    That is decided when the call begins: its frame has the one positional argument "repeatable", or none.
    """

    version = "remote - -"
    """The same for all: what a server's tools do is not the program's."""
    kind = "remote"

    def __init__(self, agent: AgentSpec, name: str, servers: RemoteServers, outside: Outside) -> None:
        self.name = f"{agent.name}.{name}"
        self._agent = agent
        self._tool_name = name
        self._servers = servers
        self._outside = outside

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        """Raises PlaybookError for arguments that do not fit, and RemoteUnavailable while the tools are not known."""
        tool = self._tool()
        return [_REPEATABLE] if tool.repeatable else [], self._arguments(tool, args, kwargs), {}

    async def adopt(self, frame: Frame, /) -> None:
        """Nothing of it is written in the program."""

    async def run(self, frame: Frame, /) -> Any:
        state = frame.state
        call = Call("0", self.name, (), dict(state.kwargs))

        async def happen(key: str) -> Any:
            await self._servers.ready_for(self._agent)
            return await self._servers.call(self._agent, self._tool(), state.kwargs, key=key)

        effect = Effect(self.name, happen, repeatable=_REPEATABLE in state.args)
        return await self._outside.value(frame, call, effect)

    def _tool(self) -> RemoteTool:
        tool = self._servers.tool(self._agent, self._tool_name)
        if tool is not None:
            return tool
        why = self._servers.trouble(self._agent)
        if why is not None:
            raise RemoteUnavailable(f"{self.name}: its server cannot be reached: {why}")
        equipped = self._servers.equipped_agent(self._agent)
        known = ", ".join(playbook.name for playbook in equipped.playbooks) or "none"
        raise PlaybookError(f"{self._agent.name} has no tool {self._tool_name!r}; it has {known}")

    def _arguments(self, tool: RemoteTool, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments under the server's names; those left out stay out."""
        params = {param.name: param for param in tool.spec.params}
        if len(args) > len(params):
            raise PlaybookError(f"{self.name} takes {len(params)} arguments, not {len(args)}")
        given = dict(zip(params, args, strict=False))
        for name, value in kwargs.items():
            if name not in params:
                takes = ", ".join(params) or "nothing"
                raise PlaybookError(f"{self.name} has no parameter {name!r}; it takes {takes}")
            if name in given:
                raise PlaybookError(f"{self.name} is given {name!r} twice")
            given[name] = value
        missing = [name for name, param in params.items() if param.default is None and name not in given]
        if missing:
            raise PlaybookError(f"{self.name} needs {missing[0]!r}")
        wanted = {
            tool.arguments[name]: value
            for name, value in given.items()
            if value is not None or params[name].default is None
        }
        try:
            values: dict[str, Any] = as_data(wanted)
        except (TypeError, ValueError) as error:
            raise PlaybookError(f"an argument of {self.name} is not data: {error}") from error
        if wrong := tool.mismatch(values):
            raise PlaybookError(f"{self.name} does not take these arguments: {wrong}")
        return values
