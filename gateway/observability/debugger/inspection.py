"""Read-only requests of an editor: threads, stacks, variables, sources."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gateway.observability.debugger.expressions import Expressions
from gateway.observability.debugger.session_watch import SessionWatch
from gateway.observability.debugger.sources import ProgramSources, real_path
from gateway.observability.debugger.stack import StackEntry, stack_of
from gateway.observability.debugger.threads import AgentThreads
from gateway.observability.debugger.variables import References, parts, scopes_of, shown
from gateway.observability.debugger.wire import Request
from runtime.core.errors import DebugError

Body = dict[str, Any]

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

    def threads(self, _: Request) -> Body:
        """All agents of all sessions in memory."""
        return {
            "threads": [
                {"id": number, "name": AgentThreads.name(watch, agent)} for number, watch, agent in self._threads
            ]
        }

    def stack(self, request: Request) -> Body:
        """The call stack of an agent."""
        watch, agent = self._threads.find(request.number("threadId"))
        entries = stack_of(watch, agent, self._sources, compiled=self.compiled)
        first, most = _whole(request, "startFrame"), _whole(request, "levels")
        chosen = entries[first : first + most] if most else entries[first:]
        return {"stackFrames": [self._frame(watch, entry) for entry in chosen], "totalFrames": len(entries)}

    def _frame(self, watch: SessionWatch, entry: StackEntry) -> Body:
        body: Body = {
            "id": self.references.give(watch, entry.frame),
            "name": entry.name,
            "line": entry.place.line if entry.place is not None else 0,
            "column": 1 if entry.place is not None else 0,
            "presentationHint": "normal" if entry.own else "subtle",
        }
        return body if entry.place is None else {**body, "source": self._source(entry.place.source)}

    def _source(self, source: str | int) -> Body:
        if isinstance(source, str):
            return {"name": Path(source).name, "path": source}
        program = self._sources.program(source)
        name = program.name if program is not None else "program"
        return {"name": f"{name}.pbasm", "sourceReference": source, "origin": "compiled"}

    def scopes(self, request: Request) -> Body:
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

    def variables(self, request: Request) -> Body:
        """The contents of a scope or a value, in pages if requested."""
        watch, value = self.references.get(request.number("variablesReference"))
        if not isinstance(value, list | Mapping):
            raise DebugError("this number is of a frame, not of variables")
        wanted = request.arguments.get("filter")
        first, most = _whole(request, "start"), _whole(request, "count")
        return {"variables": parts(self.references, watch, value, first, most, wanted)}

    async def evaluate(self, request: Request) -> Body:
        """The value of an expression in a frame, without effects."""
        owner: Any = self
        names: Mapping[str, Any] = {}
        if request.arguments.get("frameId"):
            owner, frame = self._frame_of(request.number("frameId"))
            names = owner.names(frame)
        value = await self._expressions.value(request.text("expression"), names)
        body = shown(self.references, owner, "result", value)
        return {"result": body.pop("value"), **{key: one for key, one in body.items() if key not in _NOT_OF_RESULTS}}

    def source(self, request: Request) -> Body:
        """The text of a PBAsm listing."""
        given = request.arguments.get("source")
        number = given.get("sourceReference") if isinstance(given, dict) else None
        program = self._sources.program(number or request.number("sourceReference"))
        if program is None:
            raise DebugError("there is no such source; the editor reads files itself")
        return {"content": program.pbasm, "mimeType": "text/markdown"}

    def loaded_sources(self, _: Request) -> Body:
        """Every source that has steps."""
        return {"sources": [self._source(source) for source in self._sources.all]}

    def exception(self, request: Request) -> Body:
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
