"""One connected editor: its requests, and the events it receives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import anyio

from gateway.observability.debugger.inspection import Inspection, innermost, source_of
from gateway.observability.debugger.session_watch import DebuggerDesk, SessionWatch, Why
from gateway.observability.debugger.sources import FILTERS, BreakpointWishes, Stepping
from gateway.observability.debugger.variables import Expressions, References, shown
from gateway.observability.debugger.wire import Request, Wire
from runtime.core.errors import DebugError
from runtime.execution.triggers.triggers import declared_types
from runtime.language.value_types import coerced
from runtime.tape.facts.session import VariablesAltered

FIRST_LIMIT_S = 30.0
"""The time for a new connection to send its first request."""

MAX_SAID_CHARS = 10_000
"""The longest utterance on the debug console."""

ABILITIES: Mapping[str, Any] = {
    "supportsConfigurationDoneRequest": True,
    "supportsConditionalBreakpoints": True,
    "supportsHitConditionalBreakpoints": True,
    "supportsLogPoints": True,
    "supportsFunctionBreakpoints": True,
    "supportsBreakpointLocationsRequest": True,
    "supportsEvaluateForHovers": True,
    "supportsExceptionInfoRequest": True,
    "supportsSetVariable": True,
    "supportsSteppingGranularity": True,
    "supportsDelayedStackTraceLoading": True,
    "supportsLoadedSourcesRequest": True,
    "supportsTerminateRequest": True,
    "exceptionBreakpointFilters": [
        {"filter": name, "label": label, "default": name == "failed"} for name, label in FILTERS.items()
    ],
}

Answer = Mapping[str, Any] | None
Handler = Callable[[Request], Answer | Awaitable[Answer]]


async def set_variable(request: Request, references: References, expressions: Expressions) -> dict[str, Any]:
    """Set a variable of an agent whose session is stopped; durable on return. Fires no trigger.

    The next statement sees the value. Raises DebugError for anything but a variable of an agent, and for a wrong type.
    """
    watch, container = references.get(request.number("variablesReference"))
    name, state = request.text("name"), watch.journal.state
    agent = next((agent for agent in state.agents.values() if agent.variables is container), None)
    if agent is None or name not in agent.variables:
        raise DebugError("only variables of an agent can be changed, each as a whole; locals are results of code")
    value = await expressions.value(request.text("value"), agent.variables)
    spec = watch.program.agent(agent.klass)
    declared = declared_types(spec).get(name, "") if spec is not None else ""
    try:
        value = coerced(value, declared)
    except ValueError as error:
        raise DebugError(f"${name} {error}") from error
    if watch.stand is None:
        raise DebugError("its session is running again; pause it to change something")
    watch.journal.note(VariablesAltered(agent.id, {name: value}))
    await watch.journal.commit()
    body = shown(references, watch, name, value)
    return {key: one for key, one in body.items() if key not in ("name", "evaluateName")}


class Editor:
    """The conversation with one editor, from `initialize` to the end of the connection."""

    def __init__(self, wire: Wire, desk: DebuggerDesk) -> None:
        self.wishes = BreakpointWishes(desk.sources)
        self._wire = wire
        self._desk = desk
        self._inspection = Inspection(desk.threads, desk.sources, desk.expressions)
        self._later: Callable[[], None] | None = None
        self._over = False
        self._handlers: Mapping[str, Handler] = {}

    async def run(self) -> None:
        """Answer requests until the editor leaves. Raises DebugProtocolError for bytes outside the protocol."""
        request: Request | None = None
        with anyio.move_on_after(FIRST_LIMIT_S):
            request = await self._wire.read()
        while request is not None:
            await self._answer(request)
            if self._over:
                return
            request = await self._wire.read()

    async def _answer(self, request: Request) -> None:
        begins: Mapping[str, Handler] = {"initialize": self._initialize, "disconnect": self._disconnect}
        handler = self._handlers.get(request.command) or begins.get(request.command)
        try:
            if handler is None:
                known = "begins with `initialize`" if not self._handlers else "knows no such request"
                raise DebugError(f"{request.command!r}: this debug server {known}")
            answer = handler(request)
            if isinstance(answer, Awaitable):
                answer = await answer
        except DebugError as error:
            self._wire.refuse(request, str(error))
        except Exception as error:  # noqa: BLE001 - what an editor asks for must not end the gateway
            self._wire.refuse(request, f"{request.command} failed: {type(error).__name__}: {error}")
        else:
            self._wire.answer(request, answer)
        later, self._later = self._later, None
        if later is not None:
            later()

    # -- beginning and end

    def _initialize(self, request: Request) -> Answer:
        if self._handlers:
            raise DebugError("it is already initialized")
        if request.arguments.get("linesStartAt1") is False or request.arguments.get("pathFormat", "path") != "path":
            raise DebugError("lines are counted from 1 here, and files are named by their paths")
        if not self._desk.reserve(self):
            self._later = self._end
            raise DebugError("another editor is debugging this gateway; it has to disconnect first")
        self._handlers = self._table()
        self._later = lambda: self._wire.event("initialized")
        return ABILITIES

    def _table(self) -> Mapping[str, Handler]:
        look = self._inspection
        return {
            "attach": self._attach,
            "launch": self._attach,
            "setBreakpoints": lambda request: {
                "breakpoints": self.wishes.set_lines(source_of(request), request.objects("breakpoints"))
            },
            "setFunctionBreakpoints": lambda request: {
                "breakpoints": self.wishes.set_names(request.objects("breakpoints"))
            },
            "setExceptionBreakpoints": self._set_exception_breakpoints,
            "breakpointLocations": self._breakpoint_locations,
            "configurationDone": self._configured,
            "threads": look.threads,
            "stackTrace": look.stack,
            "scopes": look.scopes,
            "variables": look.variables,
            "evaluate": look.evaluate,
            "source": look.source,
            "loadedSources": look.loaded_sources,
            "exceptionInfo": look.exception,
            "setVariable": lambda request: set_variable(request, look.references, self._desk.expressions),
            "continue": lambda request: self._go_on(request),
            "next": lambda request: self._go_on(request, "next"),
            "stepIn": lambda request: self._go_on(request, "in"),
            "stepOut": lambda request: self._go_on(request, "out"),
            "pause": self._pause,
            "terminate": self._terminate,
            "disconnect": self._disconnect,
        }

    def _attach(self, request: Request) -> Answer:
        self.wishes.stop_on_entry = request.arguments.get("stopOnEntry") is True
        self._inspection.compiled = request.arguments.get("show") == "pbasm"
        return None

    def _configured(self, _: Request) -> Answer:
        self._later = lambda: self._desk.attach(self)
        return None

    def _terminate(self, _: Request) -> Answer:
        self._desk.detach(self)
        self._later = lambda: self._wire.event("terminated")
        return None

    def _disconnect(self, _: Request) -> Answer:
        self._desk.detach(self)
        self._later = self._end
        return None

    def _end(self) -> None:
        self._over = True

    def dismiss(self) -> None:
        self._wire.event("terminated")

    # -- what it wants to stop at

    def _set_exception_breakpoints(self, request: Request) -> Answer:
        filters = request.arguments.get("filters")
        if not isinstance(filters, list) or not all(isinstance(one, str) for one in filters):
            raise DebugError("setExceptionBreakpoints needs `filters`, a list of texts")
        self.wishes.filters = set(filters) & FILTERS.keys()
        return {"breakpoints": [{"verified": one in FILTERS} for one in filters]}

    def _breakpoint_locations(self, request: Request) -> Answer:
        first, last = request.number("line"), request.arguments.get("endLine")
        lines = self._desk.sources.lines(source_of(request), first, last if type(last) is int else first)
        return {"breakpoints": [{"line": line} for line in lines]}

    # -- going on

    def _go_on(self, request: Request, how: Literal["next", "in", "out"] | None = None) -> Answer:
        watch, agent = self._desk.threads.find(request.number("threadId"))
        if watch.stand is None:
            raise DebugError("its session is not stopped")
        stepping = None
        frame = innermost(watch, agent)
        if how is not None and frame is not None:
            stepping = Stepping(how, frame, agent, fine=request.arguments.get("granularity") == "instruction")
        self._later = lambda: self._release(watch, agent, stepping)
        return {"allThreadsContinued": False} if how is None else None

    def _release(self, watch: SessionWatch, agent: str, stepping: Stepping | None) -> None:
        self._inspection.references.forget(watch)
        for other in watch.journal.state.agents:
            if other != agent:
                self._tell_going_on(watch, other)
        watch.go_on(stepping)

    def _pause(self, request: Request) -> Answer:
        watch, agent = self._desk.threads.find(request.number("threadId"))
        self._later = lambda: watch.pause(agent)
        return None

    # -- what it is told

    def stands(self, watch: SessionWatch, why: Why, /) -> None:
        """Report that a session has stopped, with all its agents, because of one of them."""
        assert watch.stand is not None
        self._inspection.references.forget(watch)
        first = watch.stand.agent
        self._wire.event(
            "stopped",
            reason=why.reason,
            description=why.text,
            text=why.text,
            threadId=self._desk.threads.number(watch, first),
            hitBreakpointIds=list(why.hit),
            allThreadsStopped=False,
        )
        for agent in watch.journal.state.agents:
            if agent != first:
                number = self._desk.threads.number(watch, agent)
                said = {"description": "Its session is stopped", "allThreadsStopped": False}
                self._wire.event("stopped", reason="pause", threadId=number, preserveFocusHint=True, **said)

    def goes_on(self, watch: SessionWatch, _agent: str, /) -> None:
        """Report that a session continues without a request, because the stopped work was cancelled."""
        self._inspection.references.forget(watch)
        for agent in watch.journal.state.agents:
            self._tell_going_on(watch, agent)

    def _tell_going_on(self, watch: SessionWatch, agent: str) -> None:
        number = self._desk.threads.number(watch, agent)
        self._wire.event("continued", threadId=number, allThreadsContinued=False)

    def came(self, watch: SessionWatch, agent: str, /) -> None:
        """An agent was loaded into memory."""
        self._wire.event("thread", reason="started", threadId=self._desk.threads.number(watch, agent))

    def went(self, watch: SessionWatch, agent: str, /) -> None:
        """An agent has left memory."""
        self._inspection.references.forget(watch)
        self._wire.event("thread", reason="exited", threadId=self._desk.threads.number(watch, agent))

    def said(self, watch: SessionWatch, agent: str, text: str, /, *, category: str = "stdout") -> None:
        """An agent has said something, or the gateway itself (agent ""), or a log point."""
        known = watch.journal.state.agent(agent)
        who = "Parley" if known is None else known.klass
        cut = text if len(text) <= MAX_SAID_CHARS else f"{text[:MAX_SAID_CHARS]}…"
        self._wire.event("output", category=category, output=f"{who}: {cut}\n")
