"""The breakpoints that an editor sets."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.observability.debugger.sources import Place, ProgramSources
from gateway.observability.debugger.variables import parsed
from runtime.core.errors import DebugError

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


@dataclass
class Breakpoint:
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


@dataclass
class BreakpointWishes:
    """The breakpoints and filters of one editor, in their latest form."""

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
