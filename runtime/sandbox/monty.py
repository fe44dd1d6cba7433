"""Runs snippets in pydantic-monty worker processes.

Facts about pydantic-monty 1.4 that this module rests on (each is held by a test):

- A host call must be answered with a pending future: only then does `asyncio.gather` work, and only then does the
  interpreter stop in a state that can be dumped and resumed by call id.
- A stopped interpreter is a few kilobytes. It is dumped and its worker given back as soon as a snippet is quiet, so a
  snippet that waits for a person, or for a playbook that itself runs snippets, holds no worker.
- Restoring a dump resets the worker's count of suspensions; calls are counted here.
- Calling an unknown name arrives as a host call, reading one as a name lookup.
- Functions and coroutines reach the host as text; values to keep are therefore turned into JSON by the guest.
- A checkout that is cancelled takes its worker out of the pool for good; when all are gone, checkouts wait for ever.
- Errors other than MontyError can come out of a turn (`TypeError`, `AttributeError`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self, cast, get_args

import anyio
import pydantic_monty as monty
from msgspec import Struct

from runtime.core.errors import NoWorker, SandboxError
from runtime.core.plain_text import MAX_ERROR_CHARS, error_text, shortened
from runtime.sandbox.executor import CallOutcome, CodeSnippet, GuestError, HostCall, NotData, as_data
from runtime.sandbox.wrapping import BARE, WorkerWrapper

_CLOSE_WAIT_S = 0.1
_LEAVE_LIMIT_S = 5.0
_CHECKOUT_LIMIT_S = 10.0
_OVERTIME_S = 1.0
_OS_POLICY_FIXED: monty.OSPolicy = {"datetime": "call_host", "sleep": "zero", "process_time": "zero"}
_KEEP_SOURCE = "import json as _kept_json\n_kept_json.dumps({name})"
_UNCATCHABLE = {"BaseException", "SystemExit", "KeyboardInterrupt", "StopIteration"}
_RAISABLE = {name for name in get_args(monty.ExcType) if "." not in name} - _UNCATCHABLE
_NOT_A_FUNCTION_TEXT = "host calls are not made while definitions are read"

Snapshot = monty.AsyncFunctionSnapshot | monty.AsyncNameLookupSnapshot | monty.AsyncFutureSnapshot | monty.MontyComplete


class SandboxLimits(Struct, frozen=True):
    """Bounds of one evaluation. `feed_s` is execution time between two host calls, waiting not counted; `printed_bytes`
    is what `print` may write (it goes nowhere); `parked_bytes` is the size of a waiting snippet."""

    feed_s: float = 2.0
    memory_bytes: int = 64 * 1024 * 1024
    depth: int = 100
    suspensions: int = 1000
    printed_bytes: int = 64 * 1024
    parked_bytes: int = 8 * 1024 * 1024


class MontySandbox:
    """A pool of at most `max_workers` worker processes; entering it starts the first, leaving it ends all.

    `wrapping` is the jail around workers, and why there is none (see runtime.sandbox.wrapping). Evaluations beyond
    the number of workers wait their turn, each for as long as others compute, never for as long as others wait.
    """

    def __init__(
        self, *, max_workers: int = 4, limits: SandboxLimits | None = None, wrapping: WorkerWrapper = BARE
    ) -> None:
        self._limits = limits or SandboxLimits()
        self.workers = max_workers
        self.wrapping = wrapping
        self._free = anyio.Semaphore(max_workers)
        self._pool = monty.AsyncMonty(
            binary_path=wrapping.wrapper,
            min_processes=1,
            max_processes=max_workers,
            request_timeout=self._limits.feed_s + 2 * _OVERTIME_S,
            feed_duration_limit_grace=_OVERTIME_S,
        )

    @property
    def busy(self) -> int:
        """The number of computing workers."""
        return self.workers - self._free.value

    async def __aenter__(self) -> Self:
        try:
            await self._pool.__aenter__()
        except (monty.MontyError, OSError, RuntimeError, TimeoutError) as error:
            raise SandboxError(f"The sandbox could not start its worker process: {error}") from error
        return self

    async def __aexit__(self, *_exception: object) -> None:
        with anyio.CancelScope(shield=True):
            with anyio.move_on_after(_LEAVE_LIMIT_S):
                await self._pool.__aexit__(None, None, None)
            # The pool's native threads end a moment after it; an interpreter that exits before them is aborted by the
            # C++ runtime in about one run of eight (measured with 1.4.0). Real time, therefore no Clock.
            await anyio.sleep(_CLOSE_WAIT_S)

    @asynccontextmanager
    async def evaluate(self, snippet: CodeSnippet, /) -> AsyncIterator[MontyEvaluation]:
        """An evaluation of `snippet`. Between `start` and `resolve` calls it holds no worker.

        Raises NoWorker, from `start` and `resolve`, when no worker is available.
        """
        evaluation = MontyEvaluation(self, snippet, self._limits)
        try:
            yield evaluation
        finally:
            evaluation.close()

    @asynccontextmanager
    async def session(self, seed: str) -> AsyncIterator[monty.AsyncMontySession]:
        """A worker for one turn. Cancelling the turn kills the worker; the pool starts another."""
        limits: monty.ResourceLimits = {
            "max_feed_duration_secs": self._limits.feed_s,
            "max_memory": self._limits.memory_bytes,
            "max_recursion_depth": self._limits.depth,
            "max_suspensions": self._limits.suspensions,
        }
        policy: monty.OSPolicy = {**_OS_POLICY_FIXED, "random_start": {"seed": seed}}
        async with self._free:
            session = await self._checked_out(lambda: self._pool.checkout(limits=limits, os_policy=policy))
            try:
                yield session
            finally:
                with anyio.move_on_after(_LEAVE_LIMIT_S, shield=True):
                    await session.__aexit__(None, None, None)

    async def _checked_out(self, checkout: Callable[[], monty.AsyncMontySession]) -> monty.AsyncMontySession:
        """A live worker. One that died while idle is noticed only here, one at each attempt."""
        dead = 0
        while True:
            session = checkout()
            try:
                with anyio.fail_after(_CHECKOUT_LIMIT_S, shield=True):  # one that is cancelled is lost to the pool
                    await session.__aenter__()
            except (monty.MontyError, OSError, RuntimeError, TimeoutError) as error:
                dead += 1
                if dead > self.workers or not isinstance(error, monty.MontyCrashedError):
                    raise NoWorker(f"The sandbox has no worker process: {error}") from error
            else:
                return session


class MontyEvaluation:
    """One snippet in execution.

    A call that is never awaited still reaches the host. A snippet that is through while such calls are outstanding
    has `ended` only when each of them was resolved; their outcomes go nowhere. An error ends it at once.
    Names that are not identifiers are not handed in; of dotted functions only those that the code can mention are.
    """

    def __init__(self, sandbox: MontySandbox, snippet: CodeSnippet, limits: SandboxLimits) -> None:
        self._sandbox = sandbox
        self._snippet = snippet
        self._limits = limits
        self._seed = hashlib.sha256(snippet.source.encode(errors="replace")).hexdigest()
        self._text = "\n".join([*snippet.prelude, snippet.source])
        self._dotted = {
            name.replace(".", "__"): name
            for name in sorted(snippet.functions)
            if name.count(".") == 1 and all(part in self._text for part in name.split("."))
        }
        self._calls: list[HostCall] = []
        self._taken = 0
        self._open: dict[int, int] = {}
        self._reading_prelude = False
        self._suspensions = 0
        self._parked: bytes | None = None
        self._through = False
        self.error: GuestError | None = None
        self._kept: dict[str, Any] = {}
        self._unkept: str | None = None

    async def start(self) -> None:
        """Run until quiet for the first time."""
        await self._turn(self._first_snapshot)

    def take_calls(self) -> Sequence[HostCall]:
        """The calls made since the last request, in order."""
        calls = self._calls[self._taken :]
        self._taken = len(self._calls)
        return calls

    async def resolve(self, number: int, outcome: CallOutcome, /) -> None:
        """Hand out one result and run until quiet again. After the end it is taken and goes nowhere.

        Raises SandboxError for a call that was never made or is already resolved.
        """
        if number not in self._open:
            raise SandboxError(f"Call {number} of the statement is not waiting for a result.")
        call_id = self._open.pop(number)
        parked, self._parked = self._parked, None
        if parked is None:
            return
        answer = _answer(outcome)

        async def restored(session: monty.AsyncMontySession) -> Snapshot:
            snapshot = await session.load_snapshot(parked, print_callback=self._printed())
            if not isinstance(snapshot, monty.AsyncFutureSnapshot):
                raise SandboxError("The sandbox restored a statement in a state that it was not left in.")
            return await snapshot.resume({call_id: answer})

        await self._turn(restored)

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.error is not None or (self._through and not self._open)

    @property
    def kept(self) -> Mapping[str, Any]:
        """The wanted values that exist at the end, as JSON data. Raises SandboxError, naming the variable."""
        if self._unkept is not None:
            raise SandboxError(self._unkept)
        return self._kept

    def close(self) -> None:
        """Drop the snippet, which can then no longer be resumed."""
        self._parked = None
        self._open.clear()

    async def _turn(self, begin: Callable[[monty.AsyncMontySession], Any]) -> None:
        """Run until quiet. A killed worker is replaced once, since nothing of the turn has left it."""
        made, opened, suspensions = len(self._calls), dict(self._open), self._suspensions
        for last in (False, True):
            async with self._sandbox.session(self._seed) as session:
                try:
                    await self._run(session, begin)
                except monty.MontyCrashedError as error:
                    if last or error.timed_out:
                        self.error = _guest_error(error)
                        return
                else:
                    return
            del self._calls[made:]
            self._open, self._suspensions, self._reading_prelude = opened, suspensions, False

    async def _run(self, session: monty.AsyncMontySession, begin: Callable[[monty.AsyncMontySession], Any]) -> None:
        try:
            snapshot = await self._run_until_quiet(await begin(session))
            if isinstance(snapshot, monty.AsyncFutureSnapshot):
                self._park(snapshot)
                return
            for name in self._snippet.keep:
                await self._keep(session, name)
            self._through = True
        except (SandboxError, monty.MontyCrashedError):
            raise
        except Exception as error:  # noqa: BLE001 - a guest can make the binding raise anything; the host goes on
            self.error = _guest_error(error)

    def _park(self, snapshot: monty.AsyncFutureSnapshot) -> None:
        parked = snapshot.dump()
        if len(parked) > self._limits.parked_bytes:
            text = f"the statement keeps {len(parked)} bytes across a call; at most {self._limits.parked_bytes} may be"
            self.error = GuestError("MemoryError", text)
            return
        self._parked = parked

    async def _first_snapshot(self, session: monty.AsyncMontySession) -> Snapshot:
        prelude = self._prelude()
        if prelude:
            self._reading_prelude = True
            await self._run_until_quiet(await session.feed_start(prelude, print_callback=self._printed()))
            self._reading_prelude = False
        return await session.feed_start(self._snippet.source, inputs=self._inputs(), print_callback=self._printed())

    def _inputs(self) -> dict[str, Any]:
        agents = {name.partition(".")[0] for name in self._dotted.values()}
        inputs: dict[str, Any] = {}
        for name, value in self._snippet.names.items():
            if not name.isidentifier() or name in agents:
                continue
            try:
                inputs[name] = as_data(value, max_chars=self._limits.memory_bytes)
            except NotData as error:
                raise SandboxError(f"The variable '{name}' cannot be handed to the statement: {error}") from error
        return inputs

    def _prelude(self) -> str:
        """Definitions first run: one class per agent, whose attributes are the host functions, then the snippet's."""
        agents: dict[str, list[str]] = {}
        for flat, name in self._dotted.items():
            head, _, tail = name.partition(".")
            agents.setdefault(head, []).append(f"    {tail} = {flat}")
        classes = ["\n".join([f"class {head}:", *lines]) for head, lines in agents.items()]
        return "\n".join([*classes, *self._snippet.prelude])

    async def _run_until_quiet(self, snapshot: Snapshot) -> Snapshot:
        while not isinstance(snapshot, monty.AsyncFutureSnapshot | monty.MontyComplete):
            self._suspensions += 1
            if self._suspensions > self._limits.suspensions:
                raise _TooManyCallsError(f"more than {self._limits.suspensions} host calls in one statement")
            if isinstance(snapshot, monty.AsyncNameLookupSnapshot):
                name = self._dotted.get(snapshot.variable_name, snapshot.variable_name)
                known = name in self._snippet.functions and snapshot.object_id is None
                snapshot = await (snapshot.resume(value=_named(name)) if known else snapshot.resume())
            else:
                snapshot = await self._call(snapshot)
        return snapshot

    async def _call(self, snapshot: monty.AsyncFunctionSnapshot) -> Snapshot:
        if snapshot.is_os_function:
            return await snapshot.resume_not_handled()
        name = str(snapshot.function_name)
        if name not in self._snippet.functions:
            return await snapshot.resume({"exc_type": "NameError", "message": f"name '{name}' is not defined"})
        if self._reading_prelude:
            return await snapshot.resume({"exc_type": "RuntimeError", "message": _NOT_A_FUNCTION_TEXT})
        try:
            args = tuple(as_data(snapshot.args))
            kwargs = as_data(snapshot.kwargs)
        except NotData as error:
            return await snapshot.resume({"exc_type": "TypeError", "message": f"an argument of {name}: {error}"})
        number = len(self._calls)
        self._calls.append(HostCall(number, name, args, kwargs))
        self._open[number] = snapshot.call_id
        return await snapshot.resume({"future": ...})

    async def _keep(self, session: monty.AsyncMontySession, name: str) -> None:
        if not name.isidentifier():
            return
        try:
            text = await session.feed_run(_KEEP_SOURCE.format(name=name), print_callback=self._printed())
            self._kept[name] = as_data(json.loads(text), max_chars=self._limits.memory_bytes)
        except monty.MontyRuntimeError as error:
            if isinstance(error.exception(), NameError):
                return
            self._unkept = f"The variable '{name}' cannot be kept: {shortened(error.display('msg'), MAX_ERROR_CHARS)}"
        except (NotData, ValueError, TypeError, RecursionError) as error:
            self._unkept = f"The variable '{name}' cannot be kept: {error}"

    def _printed(self) -> monty.CollectString:
        return monty.CollectString(max_bytes=self._limits.printed_bytes)


class _TooManyCallsError(Exception): ...


def _guest_error(error: Exception) -> GuestError:
    if isinstance(error, monty.MontyCrashedError):
        kind = "TimeoutError" if error.timed_out else "MemoryError"
        return GuestError(kind, f"the statement was ended with its process: {error_text(error)}")
    if isinstance(error, monty.MontyRuntimeError | monty.MontySyntaxError):
        return GuestError(type(error.exception()).__name__, shortened(error.display("msg"), MAX_ERROR_CHARS))
    if isinstance(error, _TooManyCallsError):
        return GuestError("RuntimeError", str(error))
    return GuestError(type(error).__name__, error_text(error))


def _answer(outcome: CallOutcome) -> monty.ExternalSettledResult:
    """The outcome in the binding's form. An exception of a type that the guest does not know becomes a RuntimeError."""
    if outcome.error is not None:
        kind, text = outcome.error
        if kind in _RAISABLE:
            return {"exc_type": cast("monty.ExcType", kind), "message": text}
        return {"exc_type": "RuntimeError", "message": f"{kind}: {text}"}
    try:
        return {"return_value": as_data(outcome.value)}
    except NotData as error:
        return {"exc_type": "TypeError", "message": f"the result cannot be handed to the statement: {error}"}


def _named(name: str) -> Callable[..., None]:
    """The name of a host function in the guest. Calls of it never run here."""

    def function(*_args: object, **_kwargs: object) -> None: ...

    function.__name__ = function.__qualname__ = name
    return function
