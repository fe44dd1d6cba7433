"""Playbooks in Python: trusted code of the program's author, replayed against the journal after a restart; and all the
code of an agent class: its fences, executed once, and the names that they see.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
from msgspec.structs import replace

from runtime.core.errors import (
    JournalError,
    OutcomeUnknown,
    ParleyError,
    PlaybookError,
    ProgramChanged,
    ProgramError,
    SharedStateConflict,
    Unjournaled,
    UnknownTarget,
)
from runtime.core.message import Attachment
from runtime.execution.calls.table import SIGNATURES
from runtime.execution.frames.drive import drive, rehearse
from runtime.execution.frames.frame import Bound, Frame, shortened
from runtime.execution.frames.loop import FrameLoop
from runtime.execution.prompt.with_files import FileContents, referred
from runtime.language.first_implementation import instead_of
from runtime.language.pbasm.versions import FrameVersion
from runtime.language.program import AgentKind, AgentSpec, Param, PlaybookSpec, PythonFence
from runtime.playbooks.playbook import OwnTypes, as_text, bound, check_signature, state_values, typed, typed_result
from runtime.playbooks.python_body import Again, PythonBody, executing, exits, host_function, place_of, running
from runtime.playbooks.remote import REMOTE_ERRORS
from runtime.tape.facts.frames import TurnEnded
from runtime.tape.journal import as_data

BYTES: Final = "bytes"
PATHS: Final = ("Path", "pathlib.Path")

_ENDING = re.compile(r"\.[A-Za-z0-9]{1,10}")


class PythonPlaybook:
    """A function of the author. A coroutine function runs on the loop, a plain one in a thread, which nothing can stop:
    when its playbook is stopped, it runs to its end without effect.
    """

    kind = "python"

    def __init__(
        self,
        spec: PlaybookSpec,
        function: Callable[..., Any],
        version: str,
        contents: FileContents | None = None,
    ) -> None:
        """`contents` are the files that parameters of the types `bytes` and `Path` are given."""
        self._contents = contents
        self.spec = spec
        self.name = spec.name
        self.version = version
        self._params = [
            replace(param, type=_held(param.type), default=_default(param, function)) for param in spec.params
        ]
        self._returns = _held(spec.returns)
        self._function = function
        self._types = OwnTypes(spec.name, function)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Bound:
        values = self._bound(args, kwargs)
        return [], values, state_values(self.spec.params, values)

    def _bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        given = bound(self.name, self._params, args, kwargs)
        self._types.read(given)
        values = typed(self.name, self._params, given)
        absent = next((param for param in self._params if param.needs_value and values[param.name] is None), None)
        if absent is not None:
            raise PlaybookError(f"{self.name} takes {absent.name} as {absent.type}, and it was not given")
        return values

    async def adopt(self, frame: Frame, /) -> None:
        """Code that changed must do what the journal has: it is run through the recorded results."""
        begun = check_signature(frame, FrameVersion.read(self.version))
        if begun.code == FrameVersion.read(self.version).code or not inspect.iscoroutinefunction(self._function):
            return
        failure: JournalError | None = None
        async with self._body(frame) as body:
            try:
                await rehearse(frame, body)
            except JournalError as error:
                failure = error
        if failure is not None:
            text = f"{self.name} was changed before the point at which it is being executed here"
            raise ProgramChanged(text, f"{failure}: {failure.detail}") from failure

    async def run(self, frame: Frame, /) -> Any:
        """Raises PlaybookError for a result that its annotation does not allow."""
        return typed_result(self.name, self._returns, await self._value(frame))

    async def _value(self, frame: Frame) -> Any:
        if not inspect.iscoroutinefunction(self._function):
            async with self._given(frame) as given:
                function = partial(self._function, *frame.state.args, **given)
                try:
                    return await anyio.to_thread.run_sync(function, abandon_on_cancel=True)
                except SystemExit as error:
                    raise exits(self.name) from error
        if not isinstance(asyncio.get_running_loop(), FrameLoop):
            raise Unjournaled("python playbooks need the event loop runtime.execution.frames.loop.FrameLoop")
        while True:
            value = await self._once(frame)
            if not isinstance(value, Again):
                return value
            values = self._bound(value.args, {})
            frame.journal.note(TurnEnded(frame.id, args=[], kwargs=values))

    @asynccontextmanager
    async def _body(self, frame: Frame) -> AsyncIterator[PythonBody]:
        async with self._given(frame) as given, executing(self._function, frame.state, frame.state.args, given) as body:
            yield body

    @asynccontextmanager
    async def _given(self, frame: Frame) -> AsyncIterator[dict[str, Any]]:
        """The arguments as the function takes them: contents for what names a file that somebody sent; paths are gone
        afterwards.

        A path ends as the file's name does, and has nothing else of it. Raises PlaybookError for a value that names
        none.
        """
        given = self._types.read(frame.state.kwargs)
        wanted = [param for param in self._params if param.name in given and param.type in (BYTES, *PATHS)]
        folder: tempfile.TemporaryDirectory[str] | None = None
        try:
            for number, param in enumerate(wanted):
                file, data = await self._content(param, given[param.name], frame.journal.state.files)
                given[param.name] = data
                if param.type in PATHS:
                    if folder is None:
                        folder = await anyio.to_thread.run_sync(
                            partial(tempfile.TemporaryDirectory, prefix="parley-", ignore_cleanup_errors=True)
                        )
                    ending = _ENDING.fullmatch(Path(file.name).suffix)
                    path = Path(folder.name) / f"file{number}{ending[0] if ending else ''}"
                    await anyio.to_thread.run_sync(path.write_bytes, data)
                    given[param.name] = path
            yield given
        finally:
            if folder is not None:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(folder.cleanup)

    async def _content(self, param: Param, value: Any, files: Sequence[Attachment]) -> tuple[Attachment, bytes]:
        found = referred(str(value), files)
        if not found or self._contents is None:
            wanted = f"{param.name} as a file that somebody sent, not {shortened(repr(value))}"
            raise PlaybookError(f"{self.name} takes {wanted}")
        data = await self._contents.content(found[0].url)
        if data is None:
            raise PlaybookError(f"{found[0].name}, which {self.name} takes as {param.name}, is no longer kept")
        return found[0], data

    async def _once(self, frame: Frame) -> Any:
        failure: Exception | None = None
        async with self._body(frame) as body:
            try:
                await drive(frame, body, frame.host)
            except ParleyError as error:
                failure = error
        failure = failure or (body.error and (body.refusal or body.error))
        if failure is not None:
            raise failure
        return body.value


def _held(annotation: str | None) -> str | None:
    """An annotation as the language's types have it, where `object` is what JSON calls so."""
    return annotation and re.sub(r"\bobject\b", "Any", annotation)


def _default(param: Param, function: Callable[..., Any]) -> str | None:
    """The default of a parameter as a literal, where it is an expression whose value is data."""
    if param.default is None:
        return None
    try:
        return repr(as_data(as_text(inspect.signature(function).parameters[param.name].default)))
    except (TypeError, ValueError):
        return param.default


_ITSELF = frozenset({"agent", "self", "variables"})
_NOT_IN_PYTHON = frozenset({"Yld", "Return", "Step"})


class Variables(Mapping[str, Any]):
    """`variables["name"]` in a playbook: its agent's variables at the last result."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        return running().variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(running().variables)

    def __len__(self) -> int:
        return len(running().variables)


class State(Variables, MutableMapping[str, Any]):
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
        async with executing(function, frame.state, (), {}, prefix=prefix) as body:
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
