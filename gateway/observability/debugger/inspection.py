"""Read-only requests of an editor: the sessions in memory with a thread for each agent, call stacks, innermost frame
first, variables, sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from gateway.observability.debugger.session_watch import AgentThreads, SessionWatch
from gateway.observability.debugger.sources import Place, ProgramSources, StopSpot, real_path, step_of
from gateway.observability.debugger.variables import Expressions, References, parts, scopes_of, shown
from gateway.observability.debugger.wire import Request
from runtime.core.errors import DebugError
from runtime.tape.state.frames import FrameState

_Body = dict[str, Any]

_FAILURES = ("failed", "rejected")
_NOT_OF_RESULTS = ("name", "evaluateName")


class Inspection:
    """Answers questions and changes nothing. With `compiled` stacks show the PBAsm instead of the author's files."""

    def __init__(self, threads: AgentThreads, sources: ProgramSources, expressions: Expressions) -> None:
        self.compiled = False
        self.references = References()
        self._threads = threads
        self._sources = sources
        self._expressions = expressions

    def threads(self, _: Request) -> _Body:
        """All agents of all sessions in memory."""
        return {
            "threads": [
                {"id": number, "name": AgentThreads.name(watch, agent)} for number, watch, agent in self._threads
            ]
        }

    def stack(self, request: Request) -> _Body:
        """The call stack of an agent."""
        watch, agent = self._threads.find(request.number("threadId"))
        entries = list(_entries(watch, agent, self._sources, self.compiled))
        first, most = _whole(request, "startFrame"), _whole(request, "levels")
        chosen = entries[first : first + most] if most else entries[first:]
        return {"stackFrames": [self._frame(watch, entry) for entry in chosen], "totalFrames": len(entries)}

    def _frame(self, watch: SessionWatch, entry: _StackEntry) -> _Body:
        body: _Body = {
            "id": self.references.give(watch, entry.frame),
            "name": entry.name,
            "line": entry.place.line if entry.place is not None else 0,
            "column": 1 if entry.place is not None else 0,
            "presentationHint": "normal" if entry.own else "subtle",
        }
        return body if entry.place is None else {**body, "source": self._source(entry.place.source)}

    def _source(self, source: str | int) -> _Body:
        if isinstance(source, str):
            return {"name": Path(source).name, "path": source}
        program = self._sources.program(source)
        name = program.name if program is not None else "program"
        return {"name": f"{name}.pbasm", "sourceReference": source, "origin": "compiled"}

    def scopes(self, request: Request) -> _Body:
        """The scopes of a frame."""
        watch, frame = self._frame_of(request.number("frameId"))
        state = watch.journal.state
        scopes = scopes_of(state, state.frames[frame], watch.spec(state.frames[frame]))
        moment = watch.stand.moment if watch.stand is not None else None
        if moment is not None and moment.frame == frame and moment.kind != "called":
            came: dict[str, Any] = (
                {"returns": moment.value} if moment.kind == "returned" else {moment.kind: moment.about}
            )
            scopes.insert(1, ("Here", came))
        return {
            "scopes": [
                {
                    "name": name,
                    "variablesReference": self.references.give(watch, values),
                    "namedVariables": len(values),
                    "expensive": False,
                    **({"presentationHint": "locals"} if name == "Locals" else {}),
                }
                for name, values in scopes
            ]
        }

    def variables(self, request: Request) -> _Body:
        """The contents of a scope or a value, in pages if requested."""
        watch, value = self.references.get(request.number("variablesReference"))
        if not isinstance(value, list | Mapping):
            raise DebugError("this number is of a frame, not of variables")
        wanted = request.arguments.get("filter")
        first, most = _whole(request, "start"), _whole(request, "count")
        return {"variables": parts(self.references, watch, value, first, most, wanted)}

    async def evaluate(self, request: Request) -> _Body:
        """The value of an expression in a frame, without effects."""
        owner: Any = self
        names: Mapping[str, Any] = {}
        if request.arguments.get("frameId"):
            owner, frame = self._frame_of(request.number("frameId"))
            names = owner.names(frame)
        value = await self._expressions.value(request.text("expression"), names)
        body = shown(self.references, owner, "result", value)
        return {"result": body.pop("value"), **{key: one for key, one in body.items() if key not in _NOT_OF_RESULTS}}

    def source(self, request: Request) -> _Body:
        """The text of a PBAsm listing."""
        given = request.arguments.get("source")
        number = given.get("sourceReference") if isinstance(given, dict) else None
        program = self._sources.program(number or request.number("sourceReference"))
        if program is None:
            raise DebugError("there is no such source; the editor reads files itself")
        return {"content": program.pbasm, "mimeType": "text/markdown"}

    def loaded_sources(self, _: Request) -> _Body:
        """Every source that has steps."""
        return {"sources": [self._source(source) for source in self._sources.all]}

    def exception(self, request: Request) -> _Body:
        """The failure at which an agent has stopped."""
        watch, agent = self._threads.find(request.number("threadId"))
        stand = watch.stand
        if stand is None or stand.agent != agent or stand.moment is None or stand.moment.kind not in _FAILURES:
            raise DebugError("it has not stopped at a failure")
        kind, about = stand.moment.kind, stand.moment.about
        named = about.partition(":")[0] if kind == "failed" else "rejected reply"
        return {"exceptionId": named, "description": about, "breakMode": "always"}

    def _frame_of(self, number: int) -> tuple[SessionWatch, str]:
        watch, frame = self.references.get(number)
        if not isinstance(frame, str) or frame not in watch.journal.state.frames:
            raise DebugError("this frame is no longer on the stack")
        return watch, frame


def source_of(request: Request) -> str | int:
    """The source of a request: a file by its real path, a PBAsm listing by its number."""
    given = request.arguments.get("source")
    if isinstance(given, dict):
        number, path = given.get("sourceReference"), given.get("path")
        if type(number) is int and number > 0:
            return number
        if isinstance(path, str) and path and "\0" not in path:
            return real_path(path)
    raise DebugError(f"{request.command} needs `source` with `path` or `sourceReference`")


def _whole(request: Request, name: str) -> int:
    """An optional argument, 0 where it is left out."""
    value = request.arguments.get(name)
    return value if type(value) is int and value > 0 else 0


class _StackEntry(Struct, frozen=True):
    """A frame: `Main:03:QUE`, another agent's `Host.Main:03:QUE`. `place` is None where there is no file. `own`: it is
    executed on the agent whose stack this is.
    """

    frame: str
    name: str
    place: Place | None
    own: bool


def innermost(watch: SessionWatch, agent: str) -> str | None:
    """The top frame of an agent's stack: the stopped one, else the latest."""
    frames = watch.journal.state.frames
    stand = watch.stand
    if stand is not None and stand.moment is not None and stand.agent == agent and stand.moment.frame in frames:
        return stand.moment.frame
    return next((id_ for id_ in reversed(frames) if frames[id_].agent == agent), None)


def _entries(watch: SessionWatch, agent: str, sources: ProgramSources, compiled: bool) -> Iterator[_StackEntry]:
    """The stack; empty while nothing is executed on the agent. `compiled`: places are those in the PBAsm."""
    state = watch.journal.state
    for current in state.stack(state.frames.get(innermost(watch, agent) or "")):
        line, place = _standing(watch, current, sources, compiled)
        owner = "" if current.agent == agent else f"{state.agents[current.agent].klass}."
        meeting = f" [meeting {current.meeting}]" if current.meeting else ""
        yield _StackEntry(current.id, f"{owner}{current.playbook}{line}{meeting}", place, current.agent == agent)


def _standing(
    watch: SessionWatch, frame: FrameState, sources: ProgramSources, compiled: bool
) -> tuple[str, Place | None]:
    """The position of a frame: `:03:QUE`, and its place."""
    spec = watch.spec(frame)
    if spec is None:
        return "", None
    moment = watch.stand.moment if watch.stand is not None else None
    coming = moment.line if moment is not None and moment.frame == frame.id else ""
    step = spec.step(coming) if coming else step_of(spec, frame.step)
    klass = watch.journal.state.agents[frame.agent].klass
    if step is not None:
        spot, named = StopSpot("step", klass, frame.playbook, step.line), f":{step.line}:{step.op}"
    else:
        spot, named = StopSpot("playbook", klass, frame.playbook), ""
    if spec.kind == "python" and frame.id in watch.places:
        return named, watch.places[frame.id]
    found = (place for place in sources.places(watch.program, spot) if isinstance(place.source, int) == compiled)
    return named, next(found, None)
