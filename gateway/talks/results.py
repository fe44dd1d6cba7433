"""Results of talks: how each ended, what differs, and which steps were reached; told to people side by side, and to
other programs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from pathlib import Path
from xml.etree import ElementTree as Xml

from msgspec import Struct, field
from rich.cells import cell_len, chop_cells

from gateway.talks.checks import TalkDifference
from gateway.talks.staging.answers import TalkRecording
from gateway.talks.staging.record import BeatRecord, StepPlace
from gateway.talks.talk import TalkScript
from runtime.authoring.explain import explain
from runtime.core.plain_text import shortened
from runtime.language.instructions.decode import decode
from runtime.language.program import Program

PASSED, FAILED = "✓", "✗"
_MISSED_SHOWN = 10
_LEAST_COLUMN = 20
_MOST_COLUMN = 70
_INDENT = "    "
_MARGIN = " " * 10
_DIFFERS = "≠"
_BETWEEN = " │ "
_TAB = 4

_WIDTH = 120
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot have."""


class TalkResult(Struct):
    """One talk that was held. Without differences it has passed. `seconds` are of the processor."""

    file: Path
    talk: TalkScript
    records: list[BeatRecord] = field(default_factory=list)
    differences: list[TalkDifference] = field(default_factory=list)
    seconds: float = 0.0
    unjudged: int = 0
    """Sentences that a judge would have to decide, and nobody did."""
    recording: TalkRecording | None = None
    """What a real model answered, where one was asked."""

    @property
    def passed(self) -> bool:
        return not self.differences

    @property
    def steps(self) -> set[StepPlace]:
        return {place for record in self.records for place in record.steps}


class StepCoverage(Struct, frozen=True):
    """The steps of a program, and those of them that no talk has reached."""

    program: Program
    reached: frozenset[StepPlace]

    @property
    def every(self) -> Sequence[tuple[StepPlace, str, str]]:
        """Each step that can be reached, with its place in the file and what it does in English."""
        walked = [(agent, one) for agent in self.program.agents for one in agent.playbooks if one.walked]
        found: list[tuple[StepPlace, str, str]] = []
        for agent, playbook in walked:
            for step in playbook.walk_steps():
                does = " ".join(part.text for part in explain(decode(step)))
                found.append(((agent.name, playbook.name, step.line), f"{step.span.file}:{step.span.line}", does))
        return found

    @property
    def missed(self) -> Sequence[tuple[StepPlace, str, str]]:
        """The steps that no talk has reached."""
        return [step for step in self.every if step[0] not in self.reached]


def result_lines(result: TalkResult, width: int) -> Iterator[str]:
    """One line for a talk, and where it has failed what differs."""
    mark = PASSED if result.passed else FAILED
    unjudged = f" ({result.unjudged} not judged)" if result.unjudged else ""
    yield f"{mark} {result.file}:{result.talk.line}  {result.talk.title}{unjudged}"
    if result.passed:
        return
    act = result.records and result.talk.beats[len(result.records) - 1].act
    if act:
        yield f"  after line {act.line}, “{_short(str(act))}”"
    first = next(one for one in result.differences if not one.fits)
    yield f"  {result.file}:{first.line or result.talk.line}"
    yield from _beside(result.differences, width)


def _beside(some: Sequence[TalkDifference], width: int) -> Iterator[str]:
    """What is written in each line beside what was seen; a sentence where nothing is written."""
    column = max(_LEAST_COLUMN, min(_MOST_COLUMN, (width - len(_MARGIN) - len(_BETWEEN)) // 2))
    for one in some:
        if not one.expected:
            yield from (f"{_INDENT}{line}" for line in wrapped(one.seen, 2 * column))
    beside = [one for one in some if one.expected]
    if beside:
        yield _row(_MARGIN, "expected", "seen", column)
    for one in beside:
        margin = f"{'' if one.fits else _DIFFERS:>3}{one.line or '':>5}  "
        left, right = wrapped(one.expected, column), wrapped(one.seen, column)
        for here, there in zip_longest(left, right, fillvalue=""):
            yield _row(margin, here, there, column)
            margin = _MARGIN


def _row(margin: str, left: str, right: str, column: int) -> str:
    return f"{margin}{left}{' ' * (column - cell_len(left))}{_BETWEEN}{right}".rstrip()


def _short(text: str) -> str:
    return shortened(" ".join(text.split()), 60)


def summary_lines(results: Sequence[TalkResult], coverages: Sequence[StepCoverage], *, every: bool) -> Iterator[str]:
    """How many passed, and how many steps they reached; `every` step that was not, else the first of them."""
    failed = sum(not result.passed for result in results)
    seconds = sum(result.seconds for result in results)
    talks = "1 talk" if len(results) == 1 else f"{len(results)} talks"
    how = (
        f"{failed} failed, {len(results) - failed} passed" if failed else "all passed" if len(results) > 1 else "passed"
    )
    yield f"{talks}: {how}; {seconds:.2f} s of the processor."
    for coverage in coverages:
        steps, missed = coverage.every, coverage.missed
        if not steps:
            continue
        yield f"{coverage.program.name}: {len(steps) - len(missed)} of {len(steps)} steps reached."
        shown = missed if every else missed[:_MISSED_SHOWN]
        for (agent, playbook, _), place, does in shown:
            yield f"  {place}  {agent}.{playbook}: {_short(does)}"
        if len(shown) < len(missed):
            yield f"  and {len(missed) - len(shown)} more; --coverage lists all"


def wrapped(text: str, width: int) -> Iterator[str]:
    """The lines of a text, none wider than `width` columns; broken between words where there are any."""
    for line in text.expandtabs(_TAB).splitlines() or [""]:
        rest = "".join(" " if unicodedata.category(char) == "Cc" else char for char in line)
        while cell_len(rest) > width:
            end = max(1, len(chop_cells(rest, width)[0]))
            space = rest.rfind(" ", 0, end + 1)
            end = space if space > width // 3 else end
            yield rest[:end].rstrip()
            rest = rest[end:].lstrip()
        yield rest


def write_junit(file: Path, results: Sequence[TalkResult]) -> None:
    """Write a suite for each talk file, with a case for each talk. Raises OSError."""
    root = Xml.Element("testsuites", name="parley test")
    for path, some in groupby(results, lambda result: result.file):
        cases = list(some)
        failed = sum(not case.passed for case in cases)
        seconds = f"{sum(case.seconds for case in cases):.3f}"
        counts = {"tests": str(len(cases)), "failures": str(failed), "errors": "0", "time": seconds}
        suite = Xml.SubElement(root, "testsuite", {"name": str(path), **counts})
        for case in cases:
            place = {"classname": str(path), "file": str(path), "line": str(case.talk.line)}
            named = {"name": _clean(case.talk.title), "time": f"{case.seconds:.3f}", **place}
            element = Xml.SubElement(suite, "testcase", named)
            if not case.passed:
                first, *lines = result_lines(case, _WIDTH)
                failure = Xml.SubElement(element, "failure", message=_clean(first))
                failure.text = _clean("\n".join(lines))
    Xml.indent(root)
    Xml.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
