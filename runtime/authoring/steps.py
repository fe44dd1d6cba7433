"""Probable mistakes in steps: no content, unknown types, two readings, loops without an end, and Python in fences."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from msgspec.structs import replace

from runtime.authoring.findings import Finding, did_you_mean, python_of
from runtime.language.diagnostics import Span
from runtime.language.first_implementation import imported
from runtime.language.instructions import model as steps
from runtime.language.instructions.conditions.reading import condition_readings, in_symbols, read_condition
from runtime.language.instructions.decode import decode
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.operands import VARIABLE
from runtime.language.instructions.text import STRING
from runtime.language.instructions.uses import sets
from runtime.language.program import (
    NOTE,
    AgentSpec,
    OpCode,
    PlaybookSpec,
    PythonFence,
    Step,
    coded,
)
from runtime.language.syntax.metadata import PLAYBOOK_KEYS, loose_setting
from runtime.language.vocabulary.phrase import comparison_meant, phrase, words_of
from runtime.language.vocabulary.word_list import WORD

_TYPE_WORDS = words_of("types")
_TYPES = (
    "Types are str, int, float, bool, list, dict, date, datetime, time, image and file; `list[str]` says what is in a "
    "list."
)
_SIGNS = frozenset("=<>")
_WITHIN = frozenset(",:;")
"""Marks inside of a sentence."""
_MARKS = "*_`#- \t"

_OF_A_VALUE = frozenset({"of", "is", "are", "was", "were", "isn't", "has", "have"})
"""Words before which no condition ends."""
_MOST = 3
_SUBJECT = 1
"""The gaps between words before which nothing is compared."""


def in_steps(playbook: PlaybookSpec) -> Iterator[Finding]:
    """Warnings about one playbook, in no order."""
    if playbook.kind != "llm":
        return
    yield from _lists(playbook.steps)
    yield from _codes(playbook)
    yield from _types(playbook)
    yield from _prose(playbook)


def unknown_notes(playbook: PlaybookSpec) -> Iterator[Finding]:
    """Notes that steps refer to and that do not exist."""
    known = {match[1] for note in playbook.notes if (match := NOTE.match(note))}
    for step in playbook.walk_steps():
        for number in NOTE.findall(step.text) if step.op is OpCode.CHK else ():
            if number not in known:
                yield Finding(step.span, f"{playbook.name} has no note N{number}", word=f"note {number}")


def _lists(listed: Sequence[Step], *, looped: bool = False) -> Iterator[Finding]:
    """Warnings about a list; a `looped` one is inside of a loop."""
    for before, step in zip([None, *listed], listed, strict=False):
        head = decode(step).head
        if step.op is OpCode.CND:
            yield from _condition(step, before)
        elif isinstance(head, steps.Leave) and not looped:
            yield Finding(step.span, "no loop is around this", "Indent it below the loop that it is about.", step.text)
        yield from _lists(step.children, looped=looped or isinstance(head, steps.Loop))


def _condition(step: Step, before: Step | None) -> Iterator[Finding]:
    if phrase("condition alone").begins(step.text):
        yield Finding(step.span, f"`{step.text}` has no condition", "Write it on the same line.", step.text)
    elif phrase("else by its words").begins(step.text.lstrip()) and not _branches(before):
        message = f"there is no If before this {step.text.split()[0].rstrip(',:')}"
        yield Finding(step.span, message, "Put it right behind its If, and indent both the same.", step.text, "error")
    elif not step.children and _WITHIN.isdisjoint(step.text) and not phrase("what follows").inside(step.text[1:]):
        hint = "Indent below it what to do, or write it on the same line, after a comma."
        yield Finding(step.span, "nothing happens when this is true", hint, step.text)


def _branches(step: Step | None) -> bool:
    """Whether an else can stand behind a step."""
    return step is not None and step.op in (OpCode.CND, OpCode.ELS) and not isinstance(decode(step).head, steps.Loop)


def _codes(playbook: PlaybookSpec) -> Iterator[Finding]:
    """Steps in a prose list that start with something like a PBAsm code."""
    for step in playbook.walk_steps():
        code = coded(step.text)
        if code and code[1] in OpCode.__members__:
            hint = "Write all steps of a playbook with their codes, or none."
            yield Finding(step.span, f"a step with the code {code[1]} is among steps in prose", hint, code[1])
        elif code and code[2] and (hint := did_you_mean(code[1], OpCode, cutoff=0.6)):
            yield Finding(step.span, f"there is no operation {code[1]}; this is read as prose", hint, code[1])


def _types(playbook: PlaybookSpec) -> Iterator[Finding]:
    for step in playbook.walk_steps():
        said = STRING.sub("", step.text)
        for typed in VARIABLE.finditer(said):
            word = typed[2] and WORD.findall(typed[2])[0]
            if word and word not in _TYPE_WORDS and said[typed.end() : typed.end() + 1] != "/":
                yield _unknown_type(step.span, f"${typed[1]}", word)
    for param in playbook.params:
        for word in WORD.findall(STRING.sub("", param.type or "")):
            if word not in _TYPE_WORDS and word.isidentifier():
                yield _unknown_type(playbook.span, f"${param.name}" if param.state else param.name, word)


def _unknown_type(span: Span, name: str, word: str) -> Finding:
    hint = did_you_mean(word, _TYPE_WORDS, cutoff=0.6) or _TYPES
    return Finding(span, f"there is no type {word}; {name} may be anything", hint, word)


def _prose(playbook: PlaybookSpec) -> Iterator[Finding]:
    if not (playbook.steps or playbook.description):
        hint = "Say below its heading what it is for, or what its ### Steps are."
        yield Finding(playbook.span, f"{playbook.name} does nothing: it has neither steps nor a description", hint)
    for row in playbook.description.splitlines():
        bare = row.strip(_MARKS).replace("*", "").replace("`", "")
        name = " ".join(WORD.findall(row)).lower()
        if name in words_of("sections") and (bare != row.strip() or bare.endswith(":")):
            hint = f"Write ### {name.capitalize()}."
            yield Finding(playbook.span, f"{row.strip()!r} below {playbook.name} is prose", hint)
        elif not playbook.steps and name in words_of("no sections") and row.lstrip().startswith("##"):
            hint = "The sections are ### Triggers, ### Steps and ### Notes."
            yield Finding(playbook.span, f"{row.strip()!r} below {playbook.name} is prose", hint)
        elif loose_setting(bare, PLAYBOOK_KEYS):
            hint = f"Write it on a separate line: {bare}"
            yield Finding(playbook.span, f"{row.strip()!r} below {playbook.name} is prose", hint)


def two_readings(playbook: PlaybookSpec) -> Iterator[Finding]:
    """The conditions that a model judges though they look exact: of two meanings, or exact only at the beginning."""
    if playbook.kind != "llm":
        return
    for step in playbook.walk_steps():
        for part in decode(step).parts:
            test = (
                part.test
                if isinstance(part, steps.Condition | steps.Jump)
                else part.over
                if isinstance(part, steps.Loop)
                else None
            )
            if not isinstance(test, steps.Prose):
                continue
            readings = condition_readings(test.text)
            if len(readings) > 1:
                ways = " or ".join(f"`{in_symbols(one)}`" for one in readings[:_MOST])
                yield Finding(
                    step.span,
                    "this condition can be read in two ways, so a model is asked which holds",
                    f"Write what you mean: {ways}.",
                    test.text,
                )
            elif slip := comparison_meant(test.text, read_condition):
                message = f"a model judges this condition: no comparison has the word `{slip[0]}`"
                yield Finding(step.span, message, f"Did you mean {slip[1]}?", slip[0])
            elif exact := _exact_beginning(test.text):
                message = f"a model judges this condition: `{exact}` is exact, and what follows is not"
                yield Finding(step.span, message, word=test.text[len(exact) :].strip(" ,"), severity="note")
            elif not _SIGNS.isdisjoint(STRING.sub("", test.text)[:-1]) and test.text[-1] not in _SIGNS:
                message = "a model judges this condition, though it has signs as exact ones have"
                yield Finding(step.span, message, "For example: $x == 3, $x >= 3 and $y < 2.", test.text)
            elif test.text in {found[1] for one in playbook.walk_steps() for found in VARIABLE.finditer(one.text)}:
                message = f"a model judges whether {test.text} is so"
                yield Finding(step.span, message, f"Did you mean ${test.text}?", test.text)


def _exact_beginning(text: str) -> str:
    """The longest beginning of a condition that compares something and is exact; "" for none."""
    for cut in reversed([at for at, char in enumerate(text) if char.isspace()][_SUBJECT:]):
        found = read_condition(text[:cut].rstrip(",")) if text[cut:].split()[0] not in _OF_A_VALUE else None
        if found is not None and isinstance(found.tree, ast.Compare | ast.BoolOp):
            return text[:cut].rstrip(",")
    return ""


def endless_loops(playbook: PlaybookSpec) -> Iterator[Finding]:
    """The loops of a playbook that go on in the same way for ever. Only those whose test is exact are looked at."""
    for step in playbook.walk_steps() if playbook.walked else ():
        head = decode(step).head
        tests = isinstance(head, steps.Loop) and head.kind in (steps.LoopKind.WHILE, steps.LoopKind.UNTIL)
        if not isinstance(head, steps.Loop) or not tests or phrase("condition alone").begins(step.text):
            continue
        if isinstance(head.over, Expression) and _is_endless(step, head, head.over.names):
            changes = " or ".join(f"${name}" for name in sorted(head.over.names))
            hint = f"Ask or wait for somebody in it, or {f'change {changes}' if changes else 'break'}."
            yield Finding(step.span, "nothing in this loop waits, or changes what it tests", hint, step.text)


def _is_endless(step: Step, loop: steps.Loop, tested: Collection[str]) -> bool:
    if loop.waits or loop.at_most is not None or not step.children:
        return False
    for inner in (one for child in step.children for one in child.walk()):
        found = decode(inner)
        if sets(found) & {*tested}:
            return False
        for part in found.parts:
            leaves = isinstance(part, steps.Jump) and not (
                part.line == step.line or part.line.startswith(f"{step.line}.")
            )
            leaves = leaves or (isinstance(part, steps.Leave) and not part.next_round)
            if leaves or isinstance(part, steps.Ask | steps.Wait | steps.Call | steps.Free | steps.End | steps.Return):
                return False
    return True


def missing_modules(agent: AgentSpec) -> Iterator[Finding]:
    """Modules that fences import and that are neither installed nor beside the program."""
    for fence, node in ((fence, node) for fence, tree in python_of(agent) for node in tree.body):
        for name in dict.fromkeys(imported(node)):
            if not (name == "playbooks" or _installed(name) or _beside(name, fence)):
                span = replace(fence.span, line=fence.span.line + node.lineno - 1)
                hint = "Install it in the environment that runs Parley."
                yield Finding(span, f"there is no module {name}", hint, name)


@lru_cache(maxsize=1024)
def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return True


def _beside(name: str, fence: PythonFence) -> bool:
    place = Path(fence.span.file).parent / name
    return place.with_suffix(".py").exists() or place.is_dir()
