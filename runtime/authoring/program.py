"""All warnings about a program."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice

from runtime.authoring.beginnings import (
    ReachabilityLint,
    misread_times,
    misspelt_beginnings,
    never_begins,
    unseen_words,
)
from runtime.authoring.calls import CallLint
from runtime.authoring.findings import Finding, SourceLines
from runtime.authoring.names import NameLint, before_joining, hidden_by_built_in, wrong_attendees
from runtime.authoring.steps import endless_loops, in_steps, missing_modules, two_readings, unknown_notes
from runtime.authoring.unfinished import PlaceholderLint, unfinished_steps
from runtime.authoring.variables import VariableLint
from runtime.language.diagnostics import Diagnostic
from runtime.language.first_implementation import lint_of_first_implementation
from runtime.language.program import Program

_MOST = 100


def lint(program: Program, built_in: Collection[str], lines: SourceLines | None = None) -> list[Diagnostic]:
    """Warnings in the order of the program, the first 100 besides those about its Python."""
    known: SourceLines = lines or {}
    python = lint_of_first_implementation(program, built_in)
    return [*python, *(found.diagnostic(known) for found in islice(_findings(program, built_in, known), _MOST))]


def _findings(program: Program, built_in: Collection[str], lines: SourceLines) -> Iterator[Finding]:
    calls, names = CallLint(program, built_in, lines), NameLint(program, built_in, lines)
    variables, reachability = VariableLint(program), ReachabilityLint(program, built_in, lines)
    in_placeholders = PlaceholderLint(program, built_in)
    yield from never_begins(program)
    yield from unseen_words(program)
    for agent in program.agents:
        yield from missing_modules(agent)
        yield from variables.in_agent(agent)
        yield from reachability.in_agent(agent)
        yield from in_placeholders.in_agent(agent)
        yield from calls.in_fences(agent)
        for playbook in agent.playbooks:
            yield from hidden_by_built_in(playbook, built_in)
            yield from wrong_attendees(program, playbook)
            yield from before_joining(agent, playbook)
            yield from misspelt_beginnings(playbook)
            yield from misread_times(playbook)
            yield from in_steps(playbook)
            yield from two_readings(playbook)
            yield from endless_loops(playbook)
            yield from unfinished_steps(playbook, lines)
            yield from unknown_notes(playbook)
            yield from _once(calls.in_playbook(agent, playbook), names.in_playbook(agent, playbook))


def _once(in_calls: Iterator[Finding], in_words: Iterator[Finding]) -> Iterator[Finding]:
    """What is found in calls and in words; a name that both found, as the call has it, unless it is no name."""
    words, calls = [*in_words], [*in_calls]
    quoted, named = {(one.span, one.word) for one in words}, {(one.span, one.word) for one in calls}
    yield from (one for one in calls if (one.span, f'"{one.word}"') not in quoted)
    yield from (one for one in words if (one.span, one.word) not in named)
