"""Probable mistakes in a playbook's steps and prose: conditions without content, unknown types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runtime.language.diagnostics import Span
from runtime.language.flow import is_else, is_loop
from runtime.language.instructions.decode import decode
from runtime.language.instructions.model import Leave, Loop
from runtime.language.instructions.text import STRING
from runtime.language.lint.findings import Finding, did_you_mean
from runtime.language.program import NOTE, Op, Param, PlaybookSpec, Step
from runtime.language.syntax.metadata import PLAYBOOK_KEYS, loose_setting
from runtime.language.vocabulary.phrase import phrase, words_of
from runtime.language.vocabulary.word_list import WORD

_TYPE_WORDS = frozenset(
    {
        *("str", "int", "float", "bool", "list", "dict", "string", "integer", "number", "boolean", "array", "object"),
        *(
            "image",
            "file",
            "date",
            "datetime",
            "time",
            "any",
            "Any",
            "None",
            "Optional",
            "Union",
            "Literal",
            "set",
            "tuple",
        ),
    }
)
_TYPES = (
    "Types are str, int, float, bool, list, dict, date, datetime, time, image and file; `list[str]` says what is in a "
    "list."
)
_TYPED = re.compile(r"\$(\w+):([A-Za-z]\w*)(?!\w*/)")
_BARE = phrase("condition alone")
_WITHIN = frozenset(",:;")
"""Marks inside of a sentence."""
_THEN = phrase("what follows")
_SECTIONS = words_of("sections")
_NO_SECTIONS = words_of("no sections")
_CODED = re.compile(r"\d+(?:\.\d+)*:([A-Za-z]{3,5})\s")
_MARKS = "*_`#- \t"


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
    for step in (step for step in playbook.walk_steps() if step.op is Op.CHK):
        for number in NOTE.findall(step.text):
            if number not in known:
                yield Finding(step.span, f"{playbook.name} has no note N{number}", word=f"note {number}")


def _lists(steps: Sequence[Step], *, looped: bool = False) -> Iterator[Finding]:
    """Warnings about a list; a `looped` one is inside of a loop."""
    for before, step in zip([None, *steps], steps, strict=False):
        head = decode(step).head
        if step.op is Op.CND:
            yield from _condition(step, before)
        elif isinstance(head, Leave) and not looped:
            yield Finding(step.span, "no loop is around this", "Indent it below the loop that it is about.", step.text)
        yield from _lists(step.children, looped=looped or isinstance(head, Loop))


def _condition(step: Step, before: Step | None) -> Iterator[Finding]:
    if _BARE.begins(step.text):
        yield Finding(step.span, f"`{step.text}` has no condition", "Write it on the same line.", step.text)
    elif is_else(step) and (before is None or before.op not in (Op.CND, Op.ELS) or is_loop(before)):
        yield Finding(
            step.span, f"no `If` comes before this `{step.text.split()[0]}`", "Indent both the same.", step.text
        )
    elif not step.children and _WITHIN.isdisjoint(step.text) and not _THEN.inside(step.text[1:]):
        hint = "Indent below it what to do, or write it on the same line, after a comma."
        yield Finding(step.span, "nothing happens when this is true", hint, step.text)


def _codes(playbook: PlaybookSpec) -> Iterator[Finding]:
    """Steps in a prose list that start with something like a PBAsm code."""
    for step in playbook.walk_steps():
        code = _CODED.match(step.text)
        if code and code[1] in Op.__members__:
            hint = "Write all steps of a playbook with their codes, or none."
            yield Finding(step.span, f"a step with the code {code[1]} is among steps in prose", hint, code[1])
        elif code and (hint := did_you_mean(code[1], Op, cutoff=0.6)):
            yield Finding(step.span, f"there is no operation {code[1]}; this is read as prose", hint, code[1])


def _types(playbook: PlaybookSpec) -> Iterator[Finding]:
    for step in playbook.walk_steps():
        for name, word in _TYPED.findall(STRING.sub("", step.text)):
            if word not in _TYPE_WORDS:
                yield _unknown_type(step.span, f"${name}", word)
    for param in playbook.params:
        for word in _strange_words(param):
            yield _unknown_type(playbook.span, f"${param.name}" if param.state else param.name, word)


def _strange_words(param: Param) -> list[str]:
    words = WORD.findall(STRING.sub("", param.type or ""))
    return [word for word in words if word not in _TYPE_WORDS and word.isidentifier()]


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
        if name in _SECTIONS and (bare != row.strip() or bare.endswith(":")):
            hint = f"Write ### {name.capitalize()}."
            yield Finding(playbook.span, f"{row.strip()!r} below {playbook.name} is prose", hint)
        elif not playbook.steps and name in _NO_SECTIONS and row.lstrip().startswith("##"):
            hint = "The sections are ### Triggers, ### Steps and ### Notes."
            yield Finding(playbook.span, f"{row.strip()!r} below {playbook.name} is prose", hint)
        elif loose_setting(bare, PLAYBOOK_KEYS):
            hint = f"Write it on a separate line: {bare}"
            yield Finding(playbook.span, f"{row.strip()!r} below {playbook.name} is prose", hint)
