"""The Python code of an agent class: its fences, executed once, and the names that they see."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from runtime.core.errors import OutcomeUnknown, PlaybookError, ProgramError, SharedStateConflict, UnknownTarget
from runtime.execution.calls.table import SIGNATURES
from runtime.execution.frames.drive import drive
from runtime.execution.frames.frame import Frame
from runtime.language.first_implementation import instead_of
from runtime.language.program import AgentKind, AgentSpec, PythonFence
from runtime.playbooks.python_body import Again, executing, host_function, place_of, running
from runtime.playbooks.remote import REMOTE_ERRORS

_ITSELF = frozenset({"agent", "self", "variables"})
_NOT_IN_PYTHON = frozenset({"Yld", "Return", "Step"})


class Variables(Mapping[str, Any]):
    """`variables["name"]` in a playbook: its agent's variables at the last result."""

    def __getitem__(self, name: str) -> Any:
        return running().variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(running().variables)

    def __len__(self) -> int:
        return len(running().variables)


class State(MutableMapping[str, Any]):
    """`agent.state.total` and `agent.state["total"]`: a variable of the agent, to read and to assign.

    An assignment, and a list or dictionary that is changed in place, is journaled as a call of `Var` before the next
    call begins, and before the playbook ends.
    """

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        return running().variable(name)

    def __setitem__(self, name: str, value: Any) -> None:
        running().assign(name, value, place_of(sys._getframe(1)))

    def __delitem__(self, name: str) -> None:
        raise AttributeError(f"a variable cannot be deleted; assign None to agent.state.{name}")

    def __iter__(self) -> Iterator[str]:
        return iter(running().variables)

    def __len__(self) -> int:
        return len(running().variables)

    def __getattr__(self, name: str) -> Any:
        try:
            return running().variable(name)
        except KeyError:
            raise AttributeError(f"the agent has no variable ${name}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        running().assign(name, value, place_of(sys._getframe(1)))

    def __delattr__(self, name: str) -> None:
        del self[name]


class OwnAgent:
    """`agent` in an author's code: its variables, its number and its calls, `agent.Say(…)` as well as `Say(…)`."""

    __slots__ = ("_calls", "klass", "state")

    def __init__(self, klass: str, calls: Mapping[str, Callable[..., Any]]) -> None:
        self.klass = klass
        self.state = State()
        self._calls = calls

    @property
    def id(self) -> str:
        return running().agent

    def __getattr__(self, name: str) -> Any:
        if name not in self._calls:
            raise AttributeError(f"an agent has no {name!r} in Python{instead_of(name)}")
        return self._calls[name]


class _Playbooks:
    """`Agent.playbook(...)` in an author's code; which tools there are, an agent's server says when they are called."""

    def __init__(self, agent: AgentSpec) -> None:
        self._agent = agent

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        may_be_tool = self._agent.kind.on_server and not name.startswith("__")
        if not may_be_tool and self._agent.playbook(name) is None:
            raise AttributeError(f"{self._agent.name} has no playbook {name!r}{instead_of(name)}")
        return host_function(f"{self._agent.name}.{name}")


def agents_by_name(agents: Sequence[AgentSpec]) -> Mapping[str, object]:
    """The agents as authors' code sees them: the same for all that have code."""
    return {agent.name: _Playbooks(agent) for agent in agents if agent.kind is not AgentKind.HUMAN}


class AgentModule:
    """The Python code of an agent class: its fences, executed once, with the host calls as functions."""

    def __init__(self, agent: AgentSpec, agents: Mapping[str, object]) -> None:
        """`agents` as `agents_by_name` has them."""
        calls = {name: host_function(name) for name in SIGNATURES.keys() - _NOT_IN_PYTHON}
        playbooks = {spec.name: host_function(spec.name) for spec in agent.playbooks}
        own = OwnAgent(agent.name, {**calls, **playbooks})
        self._names: dict[str, Any] = {"playbook": _marked, "Again": Again.call, "variables": Variables()}
        self._names |= {"agent": own, "self": own}
        errors = (OutcomeUnknown, PlaybookError, SharedStateConflict, UnknownTarget, *REMOTE_ERRORS)
        self._names |= {kind.__name__: kind for kind in errors}
        self._names |= calls
        self._names |= agents
        before = dict(self._names)
        for fence in agent.fences:
            self._execute(agent, fence)
        self.defined = frozenset(
            name
            for name, value in self._names.items()
            if (name not in before or before[name] is not value) and name != "__builtins__"
        )
        """The names that the fences define."""
        self._functions = dict(self._names)
        self._names |= playbooks

    def function(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = self._functions[name]
        return found

    def expression(self, source: str, values: Mapping[str, Any]) -> Callable[[], Awaitable[Any]]:
        """A coroutine function for the value of an expression, with `values` beside the names of the fences; an
        awaitable result is awaited.

        Raises SyntaxError.
        """
        names = {**self._names, **values}
        code = compile(f"async def placeholder():\n return ({source})", "<placeholder>", "exec")
        exec(code, names)  # noqa: S102 - trusted code of the author
        return _settled(names["placeholder"])

    def _execute(self, agent: AgentSpec, fence: PythonFence) -> None:
        padded = "\n" * (fence.span.line - 1) + fence.source
        try:
            exec(compile(padded, fence.span.file, "exec"), self._names)  # noqa: S102 - trusted code of the author
        except (Exception, SystemExit) as error:
            raise ProgramError(
                f"{fence.span}: the python code of {agent.name} fails when it is loaded: {error!r}"
            ) from error


class PlaceholderPython:
    """The Python of an agent class for the placeholders of its descriptions. See `AuthorsPython`."""

    def __init__(self, module: Callable[[], AgentModule]) -> None:
        """`module` is asked for when a placeholder names something that is known nowhere else."""
        self._module = module

    def names(self) -> Collection[str]:
        """The names that the fences define, and the agent itself."""
        return self._module().defined | _ITSELF

    async def value_of(self, frame: Frame, source: str, values: Mapping[str, Any], prefix: str) -> Any:
        function = self._module().expression(source, values)
        async with executing(function, frame.state, arguments=((), {}), prefix=prefix) as body:
            await drive(frame, body, frame.host, prefix=prefix)
        if body.error is not None:
            raise body.refusal or body.error
        return body.value


def _settled(evaluate: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
    async def placeholder() -> Any:
        value = await evaluate()
        return await value if inspect.isawaitable(value) else value

    return placeholder


def _marked(*args: Any, **_: Any) -> Any:
    """The `@playbook` decorator: what it says was read from the source already."""
    if len(args) == 1 and callable(args[0]):
        return args[0]
    return lambda function: function
