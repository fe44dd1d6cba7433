"""Calls that extensions add to every program."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from msgspec import Struct
from msgspec.structs import replace

from runtime.core.errors import PlaybookError
from runtime.execution.frames.signatures import parameters, type_text
from runtime.language.diagnostics import Span
from runtime.language.program import AgentKind, AgentSpec, PlaybookSpec, Program

CALL_LIMIT_S = 60.0
"""How long a call of an extension may take unless it says otherwise."""


class ExtensionCall(Struct, frozen=True):
    """A function that programs call by its `spec`'s name. A plain one runs in a thread.

    `repeatable`: a call that a restart interrupted is made again; otherwise its outcome is unknown. `only_reads`: it
    changes nothing outside, so it is made in scratch rooms too.
    """

    spec: PlaybookSpec
    function: Callable[..., Any]
    repeatable: bool = False
    timeout_s: float = CALL_LIMIT_S
    only_reads: bool = False

    async def happen(self, arguments: Mapping[str, Any]) -> Any:
        """The function's result. Raises what it raises, and PlaybookError when it takes too long."""
        try:
            with anyio.fail_after(self.timeout_s):
                if inspect.iscoroutinefunction(self.function):
                    coroutine: Awaitable[Any] = self.function(**arguments)
                    return await coroutine
                work = partial(self.function, **arguments)
                return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except TimeoutError as error:
            raise PlaybookError(f"{self.spec.name} took longer than {self.timeout_s:g} s and was given up") from error


def call_of(
    name: str,
    function: Callable[..., Any],
    *,
    repeatable: bool = False,
    timeout_s: float = CALL_LIMIT_S,
    only_reads: bool = False,
) -> ExtensionCall:
    """A typed function as a call. Its annotations are the types of the language, its docstring is what models read.

    Raises ValueError for parameters that have no name of their own.
    """
    signature = inspect.signature(function)
    params = parameters(name, signature.parameters.values())
    returns = type_text(signature.return_annotation)
    code = inspect.unwrap(function).__code__
    span = Span(code.co_filename, code.co_firstlineno)
    description = inspect.getdoc(function) or ""
    metadata = {"pure": repeatable}
    spec = PlaybookSpec(name, "extension", span, params, returns, description, metadata)
    return ExtensionCall(spec, function, repeatable, timeout_s, only_reads)


def with_calls(program: Program, calls: Mapping[str, ExtensionCall]) -> Program:
    """The program, each of its own agents with `calls` behind its playbooks. An agent's playbook hides a call of its
    name."""
    if not calls:
        return program
    return replace(program, agents=tuple(_equipped(agent, calls) for agent in program.agents))


def _equipped(agent: AgentSpec, calls: Mapping[str, ExtensionCall]) -> AgentSpec:
    if agent.kind is not AgentKind.AI:
        return agent
    added = tuple(call.spec for name, call in calls.items() if agent.playbook(name) is None)
    return replace(agent, playbooks=(*agent.playbooks, *added))
