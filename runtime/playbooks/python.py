"""Playbooks in Python: trusted code of the program's author, replayed against the journal after a restart."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, NoReturn

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from runtime.core.errors import (
    JournalError,
    OutcomeUnknown,
    ParleyError,
    PlaybookError,
    ProgramChanged,
    ProgramError,
    SharedStateConflict,
    Unjournaled,
)
from runtime.execution.frames.drive import drive, rehearse
from runtime.execution.frames.frame import Call, Frame, Handed, HostCalls
from runtime.execution.frames.loop import RUNNING, FrameLoop
from runtime.execution.frames.outcomes import rebuilt
from runtime.execution.frames.signatures import SIGNATURES
from runtime.language.program import AgentKind, AgentSpec, PlaybookSpec, PythonFence
from runtime.language.versions import Version
from runtime.playbooks.playbook import bound, check_signature, state_values
from runtime.playbooks.remote import REMOTE_ERRORS
from runtime.tape.frame_state import FrameState
from runtime.tape.journal import Journal

_NOT_IN_PYTHON = frozenset({"Yld", "Return", "Step"})


@dataclass(frozen=True, slots=True)
class Again:
    """Returned by an endless python playbook: begin anew with these arguments, and let the journal collapse."""

    args: tuple[Any, ...] = ()

    @classmethod
    def call(cls, *args: Any) -> Again:
        """`return Again(x)` in a playbook."""
        return cls(args)


class PythonBody:
    """A coroutine of the author as the body of its frame: its host calls are futures that the journal resolves.

    `pending` counts callbacks of this code that are waiting to run, `variables` are the agent's as of the last result.
    """

    def __init__(self, function: Callable[..., Awaitable[Any]], frame: FrameState, tasks: TaskGroup) -> None:
        self.pending = 0
        self.tasks: set[asyncio.Task[Any]] = set()
        self.ended = False
        self.value: Any = None
        self.error: Exception | None = None
        self.refusal: Unjournaled | None = None
        self.variables = dict(frame.base)
        self._function: Any = function
        self._playbook = frame.playbook
        self._futures: dict[str, asyncio.Future[Any]] = {}
        self._calls: list[Call] = []
        self._cancelled: list[Call] = []
        self._issued = 0
        token = RUNNING.set(self)
        try:
            tasks.start_soon(self._run, list(frame.args), dict(frame.kwargs))
        finally:
            RUNNING.reset(token)

    async def _run(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        try:
            self.value = await self._function(*args, **kwargs)
        except SystemExit:
            self.error = _exits(self._playbook)
        except Exception as error:  # noqa: BLE001 - the author's exception is the playbook's outcome
            self.error = error
        finally:
            self.ended = True

    def issue(
        self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], place: str | None = None
    ) -> asyncio.Future[Any]:
        """A host call: numbered when its expression is evaluated, resolved by the journal."""
        call = Call(str(self._issued), name, args, kwargs, place)
        self._issued += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._futures[call.pos] = future
        self._calls.append(call)
        future.add_done_callback(lambda done: self._cancelled.append(call) if done.cancelled() else None)
        return future

    def refuse(self, what: str, /) -> NoReturn:
        """See `Counted`. Names the line of the author's code."""
        own = self._function.__globals__
        lines = (line for line in _callers() if line.f_globals is own)
        place = next((f" at {line.f_code.co_filename}:{line.f_lineno}" for line in lines), "")
        self.refusal = Unjournaled(
            f"{self._playbook} waits for {what}{place}, which a restart cannot give again; use Sleep, WaitForMessage "
            "with a time limit, or another playbook"
        )
        raise self.refusal

    async def quiet(self) -> None:
        while self.pending:
            await checkpoint()  # lets exactly the callbacks run that are counted

    def take_calls(self) -> Sequence[Call]:
        calls, self._calls = self._calls, []
        return calls

    def take_cancelled(self) -> Sequence[Call]:
        cancelled, self._cancelled = self._cancelled, []
        return cancelled

    def close(self) -> None:
        """Nothing of the code runs any more, neither what it began and left."""
        for task in list(self.tasks):
            task.cancel()

    async def hand(self, result: Handed, /) -> None:
        self.variables = dict(result.variables)
        future = self._futures.pop(result.pos)
        if future.cancelled():
            return
        if result.error is not None:
            future.set_exception(rebuilt(result.error))
        else:
            future.set_result(result.value)


def _callers() -> Iterator[FrameType]:
    line: FrameType | None = sys._getframe(1)
    while line is not None:
        yield line
        line = line.f_back


class PythonPlaybook:
    """A function of the author. A coroutine function runs on the loop; a plain one in a thread, which nothing can stop:
    when its playbook is stopped it goes on to its end, and nobody hears of it."""

    kind = "python"

    def __init__(
        self, spec: PlaybookSpec, function: Callable[..., Any], journal: Journal, host: HostCalls, version: str
    ) -> None:
        self.spec = spec
        self.name = spec.name
        self.version = version
        self._function = function
        self._journal = journal
        self._host = host

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
        """See `Executable.bind`."""
        values = bound(self.name, self.spec.params, args, kwargs)
        return [], values, state_values(self.spec.params, values)

    async def adopt(self, frame: Frame, /) -> None:
        """Code that changed must do what the journal has: it is run through the recorded results."""
        begun = check_signature(frame, Version.read(self.version))
        if begun.code == Version.read(self.version).code or not inspect.iscoroutinefunction(self._function):
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
        """See `Executable.run`."""
        if not inspect.iscoroutinefunction(self._function):
            state = frame.state
            function = partial(self._function, *state.args, **state.kwargs)
            try:
                return await anyio.to_thread.run_sync(function, abandon_on_cancel=True)
            except SystemExit as error:
                raise _exits(self.name) from error
        if not isinstance(asyncio.get_running_loop(), FrameLoop):
            raise Unjournaled("python playbooks need the event loop runtime.execution.frames.loop.FrameLoop")
        while True:
            value = await self._once(frame)
            if not isinstance(value, Again):
                return value
            values = bound(self.name, self.spec.params, value.args, {})
            self._journal.note("turn", f=frame.id, args=[], kwargs=values)

    async def _once(self, frame: Frame) -> Any:
        failure: Exception | None = None
        async with self._body(frame) as body:
            try:
                await drive(frame, body, self._host)
            except ParleyError as error:
                failure = error
        failure = failure or (body.error and (body.refusal or body.error))
        if failure is not None:
            raise failure
        return body.value

    @asynccontextmanager
    async def _body(self, frame: Frame) -> AsyncIterator[PythonBody]:
        """The function in execution; leaving the context ends it."""
        async with anyio.create_task_group() as tasks:
            body = PythonBody(self._function, frame.state, tasks)
            try:
                yield body
            finally:
                tasks.cancel_scope.cancel()
                body.close()


def _exits(playbook: str) -> PlaybookError:
    """A playbook is no process of its own, which it might end."""
    return PlaybookError(f"{playbook} called exit; `await EndProgram()` ends a program")


class Variables(Mapping[str, Any]):
    """`variables["name"]` in a playbook: its agent's variables, as of the last result."""

    def __getitem__(self, name: str) -> Any:
        return _running().variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_running().variables)

    def __len__(self) -> int:
        return len(_running().variables)


def _running() -> PythonBody:
    body = RUNNING.get()
    if not isinstance(body, PythonBody):
        raise Unjournaled("host calls and variables can be used only inside a running playbook that is `async def`")
    return body


def host_function(name: str) -> Callable[..., asyncio.Future[Any]]:
    """A function of this name that makes a host call of whichever playbook is running."""

    def call(*args: Any, **kwargs: Any) -> asyncio.Future[Any]:
        line = sys._getframe(1)
        return _running().issue(name, args, kwargs, f"{line.f_code.co_filename}:{line.f_lineno}")

    call.__name__ = call.__qualname__ = name
    return call


class _PublicPlaybooks:
    """`Agent.Playbook(...)` in an author's code."""

    def __init__(self, agent: AgentSpec) -> None:
        for playbook in agent.playbooks:
            if playbook.public:
                setattr(self, playbook.name, host_function(f"{agent.name}.{playbook.name}"))


class _RemotePlaybooks:
    """`Agent.tool(...)` in an author's code: which tools there are, the agent's server says when they are called."""

    def __init__(self, agent: AgentSpec) -> None:
        self._agent = agent.name

    def __getattr__(self, name: str) -> Callable[..., asyncio.Future[Any]]:
        if name.startswith("__"):
            raise AttributeError(name)
        return host_function(f"{self._agent}.{name}")


def agents_by_name(agents: Sequence[AgentSpec]) -> Mapping[str, object]:
    """What authors' code sees of the agents: the same for all that have code."""
    return {
        agent.name: _RemotePlaybooks(agent) if agent.kind is AgentKind.MCP else _PublicPlaybooks(agent)
        for agent in agents
        if agent.kind is not AgentKind.HUMAN
    }


class Module:
    """The python code of an agent class: its fences, executed once, with the host calls as functions."""

    def __init__(self, agent: AgentSpec, agents: Mapping[str, object]) -> None:
        """`agents` as `agents_by_name` has them."""
        self._names: dict[str, Any] = {"playbook": _marked, "Again": Again.call, "variables": Variables()}
        errors = (OutcomeUnknown, PlaybookError, SharedStateConflict, *REMOTE_ERRORS)
        self._names |= {kind.__name__: kind for kind in errors}
        for name in SIGNATURES.keys() - _NOT_IN_PYTHON:
            self._names[name] = host_function(name)
        self._names |= agents
        for fence in agent.fences:
            self._execute(agent, fence)
        self._functions = dict(self._names)
        for spec in agent.playbooks:
            self._names[spec.name] = host_function(spec.name)

    def function(self, name: str) -> Callable[..., Any]:
        """The author's function of this name."""
        found: Callable[..., Any] = self._functions[name]
        return found

    def _execute(self, agent: AgentSpec, fence: PythonFence) -> None:
        padded = "\n" * (fence.span.line - 1) + fence.source
        try:
            exec(compile(padded, fence.span.file, "exec"), self._names)  # noqa: S102 - trusted code of the author
        except (Exception, SystemExit) as error:
            raise ProgramError(
                f"{fence.span}: the python code of {agent.name} fails when it is loaded: {error!r}"
            ) from error


def _marked(*args: Any, **_: Any) -> Any:
    """The `@playbook` decorator: what it says was read from the source already."""
    if len(args) == 1 and callable(args[0]):
        return args[0]
    return lambda function: function
