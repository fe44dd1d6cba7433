"""A coroutine of the author in execution: its host calls and its assignments to variables, in the journal's order."""

from __future__ import annotations

import asyncio
import base64
import sys
from collections import ChainMap, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from types import FrameType
from typing import Any, NoReturn

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from runtime.core.errors import PlaybookError, Unjournaled
from runtime.execution.frames.frame import SENT_BYTES, FrameCall
from runtime.execution.frames.loop import RUNNING
from runtime.execution.frames.outcomes import rebuilt
from runtime.language.first_implementation import KEYWORDS
from runtime.tape.journal import as_data
from runtime.tape.state.frames import CallRecord, FrameState

_FIELDS: Mapping[str, str] = {
    "content": "text",
    "text": "text",
    "sender_id": "from",
    "sender_klass": "class",
    "name": "name",
    "id": "id",
    "recipient_id": "to",
    "recipient_klass": "to_class",
    "message_type": "type",
    "meeting_id": "meeting",
    "stream_id": "stream",
    "created_at": "at",
}


class ReceivedMessage(dict[str, Any]):
    """A message that `WaitForMessage` gave: a dictionary, `message["text"]`, whose most used values are attributes as
    well, `message.content`. An attribute without a value is None."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name not in _FIELDS:
            raise AttributeError(f"a message has no {name!r}; it has {', '.join(_FIELDS)}")
        return self.get(_FIELDS[name])


class AgentName(str):
    """An agent as `CreateAgent` gives it: the text "agent 1005", which every call takes, with `id` "1005"."""

    __slots__ = ()

    @property
    def id(self) -> str:
        return self.rpartition(" ")[2]


def seen_by_code(call: str, value: Any) -> Any:
    """The result of the host call with this name. The journal keeps `value`, plain data."""
    if call == "WaitForMessage" and isinstance(value, list):
        return [ReceivedMessage(one) for one in value]
    if call in ("CreateAgent", "IdleAgent") and isinstance(value, str):
        return AgentName(value)
    return value


class _Lent(Struct):
    """A list or dictionary that the code was given, or has assigned.

    `of` is the variable's value, `before` the `copy` as it was then: when `copy` is another now, the code has
    changed it in place.
    """

    copy: Any
    of: Any
    before: Any


class PythonBody:
    """A coroutine of the author as the body of its frame: its host calls are futures that the journal resolves.

    `pending` counts callbacks of this code that are waiting to run. An assignment to a variable is a call of `Var` that
    the code does not await: calls made after it begin when it has its result, and the body ends after the last one.
    """

    def __init__(
        self,
        function: Callable[..., Awaitable[Any]],
        frame: FrameState,
        tasks: TaskGroup,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        prefix: str,
    ) -> None:
        """The positions of the calls begin with `prefix`."""
        self.pending = 0
        self.tasks: set[asyncio.Task[Any]] = set()
        self.ended = False
        self.value: Any = None
        self.error: Exception | None = None
        self.refusal: Unjournaled | None = None
        self.agent = frame.agent
        self._function: Any = function
        self._playbook = frame.playbook
        self._prefix = prefix
        self._futures: dict[str, tuple[str, asyncio.Future[Any]]] = {}
        self._calls: deque[FrameCall] = deque()
        self._cancelled: list[FrameCall] = []
        self._issued = 0
        self._assigned: dict[str, Any] = {}
        self.variables = ChainMap[str, Any](self._assigned, dict(frame.base))
        """The agent's variables as of the last result, and as this code has assigned them since."""
        self._lent: dict[str, _Lent] = {}
        self._assigning: dict[str, str] = {}
        """The variable of each assignment that has no result yet, by the call's position."""
        self._held_by: str | None = None
        """The assignment whose result the calls behind it wait for."""
        self._failure: Exception | None = None
        """What became of an assignment, until the code has seen it."""
        token = RUNNING.set(self)
        try:
            tasks.start_soon(self._run, list(args), dict(kwargs))
        finally:
            RUNNING.reset(token)

    async def _run(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        try:
            try:
                self.value = await self._function(*args, **kwargs)
            except SystemExit:
                self.error = exits(self._playbook)
            except Exception as error:  # noqa: BLE001 - the author's exception is the playbook's outcome
                self.error = error
            try:
                await self._settle()
            except Exception as error:  # noqa: BLE001 - an assignment that failed is its outcome as well
                self.error = self.error or error
        finally:
            self.ended = True

    # -- variables

    def variable(self, name: str) -> Any:
        """The value of a variable, which the code may change in place. Raises KeyError."""
        value = self.variables[name]
        if not isinstance(value, list | dict):
            return value
        lent = self._lent.get(name)
        if lent is None or lent.of != value:
            lent = self._lent[name] = _Lent(deepcopy(value), value, value)
        return lent.copy

    def assign(self, name: str, value: Any, place: str | None = None) -> None:
        """Set a variable, from now on for this code and with the call's result for everybody. Raises PlaybookError."""
        self._lent.pop(name, None)
        self._note_changes()
        data = self._assign(name, value, place)
        if isinstance(value, list | dict):
            self._lent[name] = _Lent(value, data, deepcopy(value))

    def _assign(self, name: str, value: Any, place: str | None = None) -> Any:
        try:
            data = as_data(value)
        except (TypeError, ValueError) as error:
            raise PlaybookError(f"${name} was assigned a value that does not survive a restart: {error}") from error
        self._assigned[name] = data
        call = self._new_call("Var", (name, data), {}, place)
        self._assigning[call.pos] = name
        return data

    def _note_changes(self) -> None:
        for name, lent in self._lent.items():
            if lent.copy != lent.before:
                lent.of = self._assign(name, lent.copy)
                lent.before = deepcopy(lent.copy)

    async def _settle(self) -> None:
        """Return when all assignments have their results. Raises what one of them failed with."""
        self._note_changes()
        while self._assigning:
            await self._futures[next(reversed(self._assigning))][1]
        self._raise_failure()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    # -- calls

    def issue(
        self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], place: str | None = None
    ) -> asyncio.Future[Any]:
        """A host call: numbered when its expression is evaluated, resolved by the journal."""
        self._raise_failure()
        self._note_changes()
        return self._futures[self._new_call(name, args, kwargs, place).pos][1]

    def _new_call(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], place: str | None) -> FrameCall:
        call = FrameCall(f"{self._prefix}{self._issued}", name, args, kwargs, place)
        self._issued += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._futures[call.pos] = name, future
        self._calls.append(call)
        future.add_done_callback(lambda done: self._cancelled.append(call) if done.cancelled() else None)
        return call

    def refuse(self, what: str, /) -> NoReturn:
        """Raise Unjournaled that names the line of the author's code."""
        own = self._function.__globals__
        lines = (line for line in _callers() if line.f_globals is own)
        place = next((f" at {line.f_code.co_filename}:{line.f_lineno}" for line in lines), "")
        self.refusal = Unjournaled(
            f"{self._playbook} waits for {what}{place}, which a restart cannot give again; use Sleep, WaitForMessage "
            "with a time limit, or another playbook"
        )
        raise self.refusal

    async def quiet(self) -> None:
        while self.pending:  # noqa: ASYNC110 - what is waited for are the next callbacks
            await asyncio.sleep(0)  # lets exactly those run that are counted

    def take_calls(self) -> Sequence[FrameCall]:
        taken: list[FrameCall] = []
        while self._calls and self._held_by is None:
            call = self._calls.popleft()
            taken.append(call)
            if call.pos in self._assigning:
                self._held_by = call.pos
        return taken

    def take_cancelled(self) -> Sequence[FrameCall]:
        cancelled, self._cancelled = self._cancelled, []
        held = {call.pos for call in self._calls}
        for call in cancelled:
            if call.pos in held:  # it has not begun, and does not
                self._calls.remove(call)
        return cancelled

    def close(self) -> None:
        for task in list(self.tasks):
            task.cancel()

    async def hand(self, pos: str, record: CallRecord, /) -> None:
        self.variables.maps[1] = dict(record.variables)
        name, future = self._futures.pop(pos)
        if pos in self._assigning:
            self._assignment_done(pos, record)
            future.set_result(None)
        elif future.cancelled():
            return
        elif record.error is not None:
            future.set_exception(rebuilt(record.error, self._function.__globals__, record.raised_at))
        else:
            future.set_result(seen_by_code(name, record.value))

    def _assignment_done(self, pos: str, record: CallRecord) -> None:
        """The variable is set, or was refused: then the calls that wait behind it are not made."""
        self._held_by = None
        name = self._assigning.pop(pos)
        if name not in self._assigning.values():
            self._assigned.pop(name, None)
        if record.error is None:
            return
        self._failure = rebuilt(record.error, raised_at=record.raised_at)
        self._lent.pop(name, None)
        waiting = [call for call in self._calls if call.pos not in self._assigning]
        for call in waiting:
            self._calls.remove(call)
            _, future = self._futures.pop(call.pos)
            if not future.done():
                future.set_exception(self._failure)
        if waiting:
            self._failure = None


@asynccontextmanager
async def executing(
    function: Callable[..., Awaitable[Any]],
    frame: FrameState,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    prefix: str = "",
) -> AsyncIterator[PythonBody]:
    """A function of the author in execution, as `PythonBody` takes it; leaving the context ends it."""
    async with anyio.create_task_group() as tasks:
        body = PythonBody(function, frame, tasks, args, kwargs, prefix)
        try:
            yield body
        finally:
            tasks.cancel_scope.cancel()
            body.close()


def _callers() -> Iterator[FrameType]:
    line: FrameType | None = sys._getframe(1)
    while line is not None:
        yield line
        line = line.f_back


def exits(playbook: str) -> PlaybookError:
    """A playbook is no process of its own, which it might end."""
    return PlaybookError(f"{playbook} called exit; `await EndProgram()` ends a program")


def running() -> PythonBody:
    """The body whose code is running. Raises Unjournaled outside of one."""
    body = RUNNING.get()
    if not isinstance(body, PythonBody):
        raise Unjournaled("host calls and variables can be used only inside a running playbook that is `async def`")
    return body


def host_function(name: str) -> Callable[..., asyncio.Future[Any]]:
    """A function of this name that makes a host call of whichever playbook is running. Arguments may have the names of
    the language's first implementation."""
    former = KEYWORDS.get(name, {})

    def call(*args: Any, **kwargs: Any) -> asyncio.Future[Any]:
        named = {former.get(key, key): _sent(value) for key, value in kwargs.items()}
        return running().issue(name, tuple(map(_sent, args)), named, place_of(sys._getframe(1)))

    call.__name__ = call.__qualname__ = name
    return call


def _sent(value: Any) -> Any:
    """An argument as data: bytes in the form in which calls take them."""
    return {SENT_BYTES: base64.b64encode(value).decode("ascii")} if isinstance(value, bytes) else value


def place_of(line: FrameType) -> str:
    return f"{line.f_code.co_filename}:{line.f_lineno}"


class Again(Struct, frozen=True):
    """Returned by an endless Python playbook: begin again with these arguments, and let the journal collapse."""

    args: tuple[Any, ...] = ()

    @classmethod
    def call(cls, *args: Any) -> Again:
        """`return Again(x)` in a playbook."""
        return cls(args)
