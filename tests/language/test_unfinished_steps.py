"""No step of a program that works is taken for one that breaks off."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.language.compiler import compile_parsed
from runtime.language.lint.unfinished import unfinished_steps
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import ProgramText, read_paths, read_text

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    path
    for folder in (Path(__file__).parent / "programs", ROOT / "examples", ROOT / "evals")
    for path in folder.rglob("*.pb")
)
SENTENCES = (
    "Tell the user that it's fine",
    "Tell the user about the pizza (the large one)",
    "Ask the user for a) their name, b) their age",
    'Say "It isn\'t done (yet)"',
    'Set $size to 12" at most',
    "Say that we are sorry :-(",
    "Say thanks ;)",
    "Ask the user what they're waiting for",
    "Choose a number in [0, 10)",
    "Set $grade to A+",
    "Ask the customers' names",
    "Say “don't panic”",
    "Find the order `(draft`",
)


def broken_off(source: ProgramText) -> list[str]:
    """What is said of its steps that break off."""
    parsed = parse(source)
    program = asyncio.run(compile_parsed(parsed, lowerer=RulesLowerer())).program
    return [
        found.diagnostic(parsed.lines).render()
        for agent in program.agents
        for playbook in agent.playbooks
        for found in unfinished_steps(playbook, parsed.lines)
    ]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_step_of_a_program_that_works_breaks_off(path: Path) -> None:
    assert broken_off(read_paths([path])) == []


@given(
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3),
    st.sampled_from((", then ", " and ", ". ", " (or not), ")),
)
@settings(max_examples=60, deadline=None)
def test_english_with_parentheses_and_apostrophes_is_whole(sentences: list[str], between: str) -> None:
    assert broken_off(read_text(f"# Clerk\n\n## Main\ncli_entry: true\n- {between.join(sentences)}\n", "p.pb")) == []


@given(
    st.sampled_from(SENTENCES), st.sampled_from((" (really", " [1, 2", ' {"a": 1', ' "yes', " and", " of it) or more"))
)
@settings(max_examples=60, deadline=None)
def test_the_same_english_is_seen_to_break_off(sentence: str, end: str) -> None:
    assert len(broken_off(read_text(f"# Clerk\n\n## Main\ncli_entry: true\n- {sentence}{end}\n", "p.pb"))) == 1
