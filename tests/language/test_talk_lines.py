"""Lines that speak or wait: what is read from their print is what the lowering made of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.language.diagnostics import ProgramRejected
from runtime.language.instructions.decode import decode
from runtime.language.instructions.model import Ask, Meaning
from runtime.language.lowering.instruction import LoweredStep, meaning_of
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import AgentKind, Step
from runtime.language.syntax.nodes import ParsedProgram
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text
from tests.language.case import read_cases

ROOT = Path(__file__).parents[2]
FOLDERS = ("examples", "evals", "tests/language/programs", "tests/e2e/programs", "tests/chaos/programs")
FILES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.pb"))]
UNCLOSED = (
    'Ask the user for the size of the screen, such as 12"',
    "Ask the user how they are :-(",
    "Ask the user for two of [1, 2, 3",
    "Ask the user for a name (a short one",
)


def spoken(program: ParsedProgram) -> Iterator[LoweredStep]:
    """The steps of a program that speak or wait."""
    for agent in program.agents:
        if agent.kind is AgentKind.AI and not agent.compiled:
            spec, _ = RulesLowerer().understood(agent, program)
            steps = (step for playbook in spec.playbooks for step in playbook.walk_steps())
            yield from (step for step in steps if isinstance(step, LoweredStep) and step.spoken)


def printed(step: Step) -> tuple[Meaning, ...]:
    """What is read from the print of a step."""
    return decode(Step(step.line, step.op, step.text, step.span, step.children)).parts


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_lines_of_a_program_are_read_as_they_were_made(file: Path) -> None:
    try:
        program = parse(read_text(file.read_text(encoding="utf-8"), "p.pb"))
    except ProgramRejected:  # it imports what is not beside it here
        return
    assert all(printed(step) == meaning_of(step).parts for step in spoken(program))


def test_lines_of_the_cases_are_read_as_they_were_made() -> None:
    seen = 0
    for case in read_cases():
        try:
            program = parse(read_text(case.program, case.file))
            steps = list(spoken(program))
        except ProgramRejected:
            continue
        seen += len(steps)
        assert [printed(step) for step in steps] == [meaning_of(step).parts for step in steps], case.title
    assert seen > 500


@pytest.mark.parametrize("text", UNCLOSED)
def test_a_question_with_a_mark_that_is_never_closed_waits(text: str) -> None:
    program = parse(read_text(f"# A\n\n## P\n### Steps\n- {text}\n", "p.pb"))
    (step,) = spoken(program)
    (asked,) = printed(step)
    assert (asked,) == meaning_of(step).parts
    assert isinstance(asked, Ask)
    assert asked.sources == ("user",)
