"""The source lines of steps, in their authors' files and in the PBAsm compiled from them; the moments at which
execution can stop there, and which of them end a step of the debugger.
"""

from __future__ import annotations

import ast
import itertools
import operator
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field

from gateway.observability.debugger.variables import parsed
from runtime.core.errors import DebugError, ProgramError
from runtime.language.diagnostics import Span
from runtime.language.pbasm import notation
from runtime.language.program import OpCode, PlaybookSpec, Program, Step

_MAX_SOURCE_BYTES = 1 << 20

_BULLETS = frozenset({"- ", "* ", "+ ", "-", "*", "+"})

MomentKind = Literal["called", "step", "statement", "call", "returned", "failed", "rejected"]

MAX_BREAKPOINTS = 1000
"""The limit for one source, and for playbooks by name."""

FILTERS: Mapping[str, str] = {
    "failed": "A playbook failed",
    "rejected": "A model's reply was refused",
    "called": "A playbook is called",
    "returned": "A playbook has returned",
}
"""The kinds of moments that an editor can switch on, with what people see."""

_HITS = re.compile(r"\s*(==|>=|<=|>|<|%)?\s*(\d{1,9})\s*\Z")
_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "%": lambda hits, number: number > 0 and hits % number == 0,
}


class Place(Struct, frozen=True):
    """A line of a source, from 1: a file by its real path, or by its number the PBAsm of a program."""

    source: str | int
    line: int


class StopSpot(Struct, frozen=True):
    """A place at which execution can stop: a call of a playbook (`step` is ""), one of its steps, or a line of Python,
    which belongs to no playbook here.
    """

    kind: Literal["playbook", "step", "python"]
    agent: str = ""
    playbook: str = ""
    step: str = ""


class _Lines(Struct):
    """The spots of one source by their lines, and the lines that continue the text of the line before."""

    spots: dict[int, list[StopSpot]] = field(default_factory=dict)
    continued: set[int] = field(default_factory=set)

    def nearest(self, line: int) -> int | None:
        """The line of the spot that a line belongs to, else of the next spot, else of the last."""
        numbers = sorted(self.spots)
        at = bisect_right(numbers, line)
        if at and self.continued.issuperset(range(numbers[at - 1] + 1, line + 1)):
            return numbers[at - 1]
        after = bisect_left(numbers, line)
        return next(iter(numbers[after : after + 1] or numbers[-1:]), None)


class ProgramSources:
    def __init__(self, programs: Mapping[str, Program]) -> None:
        self._programs: list[Program] = []
        self._lines: dict[str | int, _Lines] = {}
        self._places: dict[tuple[str, StopSpot], list[Place]] = {}
        for program in programs.values():
            self.take(program)

    def take(self, program: Program) -> None:
        """Know a program too: a session may run one that was reloaded, or an earlier version."""
        if all(known.digest != program.digest for known in self._programs):
            self._programs.append(program)
            self._note(program, program)
            self._note(program, _compiled(program), len(self._programs))

    def _note(self, program: Program, text: Program, number: int | None = None) -> None:
        for spot, span in _spots(text):
            if spot.kind == "python" and number is not None:
                continue  # calls say where they stand in the author's file
            place = Place(real_path(span.file) if number is None else number, span.line)
            lines = self._lines.get(place.source)
            if lines is None:
                continued = _continued(program.pbasm if number is not None else _text_of(Path(span.file)))
                lines = self._lines[place.source] = _Lines(continued=continued)
            if spot not in lines.spots.setdefault(place.line, []):
                lines.spots[place.line].append(spot)
            self._places.setdefault((program.digest, spot), []).append(place)

    def nearest(self, place: Place) -> Place | None:
        """The spot for a breakpoint on a line; None in a source without executable lines."""
        lines = self._lines.get(place.source)
        line = lines.nearest(place.line) if lines is not None else None
        return None if line is None else Place(place.source, line)

    def lines(self, source: str | int, first: int, last: int) -> list[int]:
        """The lines from `first` to `last` at which execution can stop."""
        found = self._lines.get(source)
        return [] if found is None else [line for line in sorted(found.spots) if first <= line <= last]

    def places(self, program: Program, spot: StopSpot) -> list[Place]:
        """All places of a spot, the author's file first."""
        return self._places.get((program.digest, spot), [])

    @property
    def all(self) -> list[str | int]:
        return list(self._lines)

    def names(self, name: str) -> bool:
        """Whether `Playbook` or `Agent.Playbook` is a playbook."""
        owner, _, playbook = name.rpartition(".")
        return any(
            agent.playbook(playbook) is not None and owner in ("", agent.name)
            for program in self._programs
            for agent in program.agents
        )

    def program(self, number: int) -> Program | None:
        return self._programs[number - 1] if 0 < number <= len(self._programs) else None


@lru_cache(maxsize=1024)
def real_path(file: str) -> str:
    """A file's canonical path."""
    return str(Path(file).resolve())


def step_of(playbook: PlaybookSpec, location: str | None) -> Step | None:
    """The step of `Playbook:line:code`."""
    parts = (location or "").split(":")
    return playbook.step(parts[1]) if len(parts) > 1 else None


def is_again(spec: PlaybookSpec, before: Step | None, step: Step) -> bool:
    """Whether a step is on the same line as the previous one, or the return to the line of its loop."""
    if before is not None and before.span == step.span and before.line < step.line:
        return True
    loop = spec.step(step.line.rpartition(".")[0])
    return step.op is OpCode.JMP and loop is not None and loop.span == step.span


def location_of(source: str) -> str | None:
    """The step that a statement says it starts."""
    match ast.parse(source).body:
        case [ast.Expr(value=ast.Await(value=call) | call)]:
            match call:
                case ast.Call(func=ast.Name(id="Step"), args=[ast.Constant(value=str(said))]):
                    return said
    return None


def _spots(program: Program) -> Iterator[tuple[StopSpot, Span]]:
    for agent in program.agents:
        for playbook in agent.playbooks:
            yield StopSpot("playbook", agent.name, playbook.name), playbook.span
            for step in playbook.walk_steps():
                yield StopSpot("step", agent.name, playbook.name, step.line), step.span
        for fence in agent.fences:
            yield from ((StopSpot("python"), span) for span in _calls(fence.source, fence.span))


def _calls(source: str, span: Span) -> Iterable[Span]:
    """The lines of Python that await something: host calls are made there."""
    for number, line in enumerate(source.splitlines(), span.line):
        if "await " in line and not line.lstrip().startswith("#"):
            yield Span(span.file, number)


def _compiled(program: Program) -> Program:
    """The program read from its own PBAsm, so that spans are lines of the listing."""
    try:
        return notation.read(program.pbasm, f"{program.name}.pbasm")
    except ProgramError:
        return Program(program.name, (), "", "")


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_SOURCE_BYTES).decode(errors="replace")
    except OSError:
        return ""


def _continued(text: str) -> set[int]:
    """The lines of a list item after its first: indented, and no items themselves."""
    rows = enumerate(text.splitlines(), 1)
    return {
        number for number, row in rows if row[:1] in (" ", "\t") and row.strip() and row.strip()[:2] not in _BULLETS
    }


class Moment(Struct, frozen=True):
    """A frame before what it does next: a playbook that was called, a step in English, a statement of one, a host call
    of Python; or with what came of it.

    `places` are all lines of sources at which that stands. `names` are those of the playbook, where it is called.
    `about` is the statement, the call or the error; `line` is the step's. `again` says that the step stands on the same
    line as the one before it.
    """

    kind: MomentKind
    frame: str
    agent: str
    places: tuple[Place, ...] = ()
    names: tuple[str, ...] = ()
    about: str = ""
    line: str = ""
    value: Any = None
    again: bool = False


class Stepping(Struct, frozen=True):
    """A step from a frame of an agent to a nearby moment. `fine` stops at every statement."""

    how: Literal["next", "in", "out"]
    frame: str
    agent: str
    fine: bool = False

    def ends_at(self, moment: Moment, *, alive: bool) -> bool:
        """Whether to stop here. `alive`: the frame from which the step started is still on the stack."""
        frame = moment.frame
        if frame == self.frame:
            return self.how != "out" and self._own(moment)
        if frame.startswith(self.frame + ":"):
            return self.how == "in" and self._own(moment)
        if alive:
            return False
        caller = self.frame.startswith(frame + ":")
        if caller:
            return moment.kind in ("step", "statement", "call", "returned")
        return ":" not in frame and moment.agent == self.agent and moment.kind == "called"

    def _own(self, moment: Moment) -> bool:
        if moment.kind == "statement":
            return self.fine
        return moment.kind in ("called", "call", "returned") or (moment.kind == "step" and not moment.again)


class Breakpoint(Struct):
    """A breakpoint. `hits` counts how often execution passed it while its condition held."""

    id: int
    condition: str = ""
    hit_condition: str = ""
    log_message: str = ""
    hits: int = 0

    def counts(self) -> bool:
        """Count a pass of execution, and return whether it is one that should stop."""
        self.hits += 1
        return not self.hit_condition or _hit_rule(self.hit_condition)(self.hits)


def _hit_rule(text: str) -> Callable[[int], bool]:
    """The test of a hit condition: `3` is the third pass alone, `% 3` every third; `>= 3`, `> 3`, `< 3` and `<= 3` read
    as written.
    """
    found = _HITS.match(text)
    if found is None:
        raise DebugError(f"{text!r} is not a hit count; write 3, >= 3, < 3 or % 3")
    compare, number = _COMPARE[found[1] or "=="], int(found[2])
    return lambda hits: compare(hits, number)


class BreakpointWishes(Struct):
    sources: ProgramSources
    filters: set[str] = field(default_factory=set)
    stop_on_entry: bool = False
    _lines: dict[str | int, dict[Place, Breakpoint]] = field(default_factory=dict)
    _names: dict[str, Breakpoint] = field(default_factory=dict)
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def set_lines(self, source: str | int, wanted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Replace the breakpoints of a source; returns the outcome of each, in order."""
        self._lines[source] = {}
        return [self._set_line(source, one) for one in _few(wanted)]

    def _set_line(self, source: str | int, wanted: Mapping[str, Any]) -> dict[str, Any]:
        line = wanted.get("line")
        if type(line) is not int or line < 1:
            return _unset("a breakpoint has a line, from 1")
        place = self.sources.nearest(Place(source, line))
        if place is None:
            return _unset("this file belongs to no program that is served here")
        try:
            made = self._made(wanted)
        except DebugError as error:
            return {**_unset(str(error)), "line": line}
        self._lines[source][place] = made
        moved = {} if place.line == line else {"message": f"moved to line {place.line}, the nearest step"}
        return {"id": made.id, "verified": True, "line": place.line, **moved}

    def set_names(self, wanted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Replace the breakpoints on playbooks, given as `Playbook` or `Agent.Playbook`; returns the outcome of each,
        in order.
        """
        self._names = {}
        return [self._set_name(one) for one in _few(wanted)]

    def _set_name(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        name = wanted.get("name")
        if not isinstance(name, str) or not self.sources.names(name):
            return _unset(f"there is no playbook {str(name)[:100]!r}; write Playbook or Agent.Playbook")
        try:
            made = self._names[name] = self._made(wanted)
        except DebugError as error:
            return _unset(str(error))
        return {"id": made.id, "verified": True}

    def _made(self, wanted: Mapping[str, Any]) -> Breakpoint:
        given = (wanted.get("condition"), wanted.get("hitCondition"), wanted.get("logMessage"))
        condition, hits, message = (str(one or "").strip() for one in given)
        if condition:
            parsed(condition)
        if hits:
            _hit_rule(hits)
        return Breakpoint(next(iter(self._ids)), condition, hits, message)

    def at(self, places: Iterable[Place], names: Iterable[str]) -> list[Breakpoint]:
        """The breakpoints that execution has reached."""
        here = [self._lines.get(place.source, {}).get(place) for place in places]
        here += [self._names.get(name) for name in names]
        return [one for one in here if one is not None]


def _few(wanted: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    if len(wanted) > MAX_BREAKPOINTS:
        raise DebugError(f"at most {MAX_BREAKPOINTS:,} breakpoints can be set at once")
    return wanted


def _unset(why: str) -> dict[str, Any]:
    return {"verified": False, "message": why}
