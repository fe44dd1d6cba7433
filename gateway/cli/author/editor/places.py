"""Places of names in a program's text: agents, playbooks and variables, by line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runtime.language.program import AgentSpec

_VARIABLE = re.compile(r"\$([^\W\d]\w*)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class EditorPlace:
    """A part of a line. Lines and characters count from 0; `end` is behind the last character."""

    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A name at a place: a variable without its `$`, or a word that may be an agent or a playbook."""

    text: str
    variable: bool
    place: EditorPlace


def name_at(rows: Sequence[str], line: int, character: int) -> NamedPlace | None:
    """The name at a position; None where there is none."""
    if not 0 <= line < len(rows):
        return None
    row = rows[line]
    for match in _VARIABLE.finditer(row):
        if match.start() <= character <= match.end():
            return NamedPlace(match[1], True, EditorPlace(line, match.start(), match.end()))
    for match in _NAME.finditer(row):
        if match.start() <= character <= match.end():
            return NamedPlace(match[0], False, EditorPlace(line, match.start(), match.end()))
    return None


def section_of(agents: Sequence[AgentSpec], line: int, count: int) -> tuple[AgentSpec | None, range]:
    """The agent whose part of a file with `count` lines has a line, and the lines of that part."""
    starts = sorted((agent.span.line - 1, number) for number, agent in enumerate(agents))
    above = [place for place in starts if place[0] <= line]
    if not above or line >= count:
        return None, range(0)
    start, number = above[-1]
    below = [place[0] for place in starts if place[0] > start]
    return agents[number], range(start, min(below, default=count))


def uses(rows: Sequence[str], lines: range, variable: str) -> Iterator[EditorPlace]:
    """Where a variable stands in some lines, outside of fences: with its `$`, and in braces without."""
    braced = re.compile(rf"(?<=\{{)\s*{re.escape(variable)}(?=\s*[}}.:\[!])")
    dollar = re.compile(rf"\${re.escape(variable)}(?!\w)")
    inside = ""
    for line in lines:
        fence = _FENCE.match(rows[line])
        if fence is not None and (not inside or fence[1].startswith(inside)):
            inside = "" if inside else fence[1]
            continue
        if inside:
            continue
        for match in dollar.finditer(rows[line]):
            yield EditorPlace(line, match.start() + 1, match.end())
        for match in braced.finditer(rows[line]):
            start = match.end() - len(variable)
            yield EditorPlace(line, start, match.end())


def variables(rows: Sequence[str], lines: range) -> list[str]:
    """The variables that some lines name, in order."""
    return list(dict.fromkeys(match[1] for line in lines for match in _VARIABLE.finditer(rows[line])))
