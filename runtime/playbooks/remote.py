"""Playbooks that are tools of a remote agent's server, or calls of an extension: an outside effect each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.core.address import CLIENT, SCRATCH
from runtime.core.errors import (
    NotAllowed,
    PlaybookError,
    RemoteError,
    RemoteFault,
    RemoteTimeout,
    RemoteUnavailable,
    ToolFailed,
)
from runtime.core.texts import Texts
from runtime.execution.calls.remote import RemoteTool
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.drive import OutsideEffect, check_call, performed
from runtime.execution.frames.frame import Bound, Frame, FrameCall, shortened
from runtime.execution.frames.outcomes import result_of
from runtime.execution.prompt.situation import shown_value
from runtime.language.program import AgentSpec, PlaybookSpec
from runtime.playbooks.playbook import bound, given, typed, typed_result
from runtime.tape.journal import as_data

REMOTE_ERRORS = (RemoteError, NotAllowed, ToolFailed, RemoteFault, RemoteTimeout, RemoteUnavailable)
"""What calls may raise, besides OutcomeUnknown and PlaybookError; an author's code knows them by name."""

REPEATABLE = "repeatable"
ASKED_FOR = "asked for"
"""Positional arguments of the frame of a call: how it was decided when it began."""

ARGUMENT_CHARS = 500
"""The length of an argument in the question whether a call may be made."""

QUESTION = "may"
"""The position of the question whether a call may be made."""


class OutsidePlaybook:
    """A playbook of which nothing is written in the program: what it does is not the program's, and its version the
    same for all."""

    name: str

    async def adopt(self, frame: Frame, /) -> None:
        """Nothing of it can have changed."""


class RemotePlaybook(OutsidePlaybook):
    """One tool. A call that a restart interrupted is repeated where that does no harm, else its outcome is unknown.

    That, and whether people are asked first, is decided when the call begins: "repeatable" and "asked for" are then
    positional arguments of its frame.
    """

    version = "remote - -"
    kind = "remote"

    def __init__(self, agent: AgentSpec, name: str, context: ExecutionContext) -> None:
        self.name = f"{agent.name}.{name}"
        self._agent = agent
        self._tool_name = name
        self._context = context
        self._servers = context.servers

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Bound:
        """Raises PlaybookError for arguments that do not fit, RemoteUnavailable while the tools are not known, and
        NotAllowed where the settings say so."""
        tool = self._tool()
        in_task = self._context.journal.state.order is not None
        verdict = self._context.tool_rules.verdict(self.name, tool, in_task=in_task)
        if verdict == "deny":
            raise NotAllowed(f"{self.name} may not be called here: [tools] in the settings says so")
        how = [REPEATABLE] * tool.repeatable + [ASKED_FOR] * (verdict == "ask")
        return how, self._arguments(tool, args, kwargs), {}

    async def run(self, frame: Frame, /) -> Any:
        state = frame.state
        if ASKED_FOR in state.args:
            await self._be_allowed(frame)
        call = FrameCall("0", self.name, (), dict(state.kwargs))

        async def happen(key: str) -> Any:
            await self._servers.ready_for(self._agent)
            return await self._servers.call(self._agent, self._tool(), state.kwargs, key=key)

        return await OutsideEffect(self.name, happen, repeatable=REPEATABLE in state.args).value(frame, call)

    async def _be_allowed(self, frame: Frame) -> None:
        """Ask people whether the call may be made, once, and wait for the answer. Raises NotAllowed."""
        order = self._context.journal.state.order
        if order is not None and order.place.platform == CLIENT:
            raise NotAllowed(f"{self.name} is to be allowed by people, and another program has ordered this task")
        texts = self._context.pages.texts
        given = ", ".join(f"{name}={shown_value(value, ARGUMENT_CHARS)}" for name, value in frame.state.kwargs.items())
        question = texts("tools.may", tool=self.name, arguments=given)
        yes, no = texts("tools.yes"), texts("tools.no")
        asked = FrameCall(QUESTION, "Ask", (), {})
        rules = self._context.tool_rules
        call = FrameCall(QUESTION, "Ask", (question, [yes, no]), {"within_s": rules.within_s}, answers=asked)
        check_call(frame, call)
        if QUESTION not in frame.state.records:
            await performed(frame, call)
        said = str(result_of(frame.state.records[QUESTION]) or "").strip()
        if not allows(said, texts):
            why = f"the answer was {shortened(said)}" if said else f"nobody answered in {rules.within_s:g} s"
            raise NotAllowed(f"{self.name} was not allowed: {why}")

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
        required = {param.name for param in tool.spec.params if param.default is None}
        wanted = {
            tool.arguments[name]: value
            for name, value in given(self.name, tool.spec.params, args, kwargs).items()
            if value is not None or name in required
        }
        try:
            values: dict[str, Any] = as_data(wanted)
        except (TypeError, ValueError) as error:
            raise PlaybookError(f"an argument of {self.name} is not data: {error}") from error
        if wrong := tool.mismatch(values):
            raise PlaybookError(f"{self.name} does not take these arguments: {wrong}")
        return values


def allows(said: str, texts: Texts) -> bool:
    yes = {texts("tools.yes").casefold(), *texts("tools.yes_in_words").split(", ")}
    return said.strip().rstrip(".!").casefold() in yes


class ExtensionPlaybook(OutsidePlaybook):
    """One call. One that a restart interrupted is made again if it is repeatable, else its outcome is unknown.

    In scratch rooms, where people try things, only those are made that change nothing outside.
    """

    version = "extension - -"
    kind = "extension"

    def __init__(self, spec: PlaybookSpec, context: ExecutionContext) -> None:
        self.name = spec.name
        self._spec = spec
        self._context = context

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Bound:
        params = self._spec.params
        return [], typed(self.name, params, bound(self.name, params, args, kwargs)), {}

    async def run(self, frame: Frame, /) -> Any:
        arguments = dict(frame.state.kwargs)
        call = self._context.calls.get(self.name)
        if call is None:
            raise PlaybookError(f"{self.name} is a call of an extension that is not loaded here")
        if self._context.pages.address.platform == SCRATCH and not call.only_reads:
            raise NotAllowed(
                f"{self.name} is not called in a scratch room, because it may change something outside. "
                "Its extension can say only_reads=True where it changes nothing."
            )
        effect = OutsideEffect(self.name, lambda _key: call.happen(arguments), repeatable=call.repeatable)
        value = await effect.value(frame, FrameCall("0", self.name, (), arguments))
        return typed_result(self.name, self._spec.returns, value)
