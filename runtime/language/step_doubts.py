"""What in the steps and the prose of a playbook is probably not meant: conditions of nothing, types that are none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from runtime.language.diagnostics import Diagnostic, Span
from runtime.language.flow import is_else, is_loop
from runtime.language.metadata import PLAYBOOK_KEYS, loose_setting
from runtime.language.program import Op, Param, PlaybookSpec, Step

_TYPE_WORDS = frozenset(
    {
        *("str", "int", "float", "bool", "list", "dict", "string", "integer", "number", "boolean", "array", "object"),
        *("any", "Any", "None", "Optional", "Union", "Literal", "set", "tuple"),
    }
)
_TYPES = "Types are str, int, float, bool, list and dict; `list[str]` says what is in a list."
_TYPED = re.compile(r"\$(\w+):([A-Za-z]\w*)(?!\w*/)")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_BARE = re.compile(
    r"(?:if|when|whenever|once|unless|while|until|for each|for every|for all|as long as|else if|otherwise if)\W*\Z",
    re.IGNORECASE,
)
_ONE_SENTENCE = re.compile(r"[^,:;]*\Z")
_THEN = re.compile(r"\b(?:then|else|otherwise|return|end|continue|break|repeat|skip|go to)\b", re.IGNORECASE)
_LOOKS_LIKE_SECTION = re.compile(r"\W*(triggers?|steps?|notes?)\W*\Z", re.IGNORECASE)
_MARKS = "*_`#- \t"


def doubts_of_steps(playbook: PlaybookSpec) -> Iterator[Diagnostic]:
    """Warnings about one playbook, in no order."""
    if playbook.kind != "llm":
        return
    yield from _lists(playbook.steps)
    yield from _types(playbook)
    yield from _prose(playbook)


def _lists(steps: Sequence[Step]) -> Iterator[Diagnostic]:
    for before, step in zip([None, *steps], steps, strict=False):
        if step.op is Op.CND:
            yield from _condition(step, before)
        yield from _lists(step.children)


def _condition(step: Step, before: Step | None) -> Iterator[Diagnostic]:
    if _BARE.match(step.text):
        yield _doubt(step.span, f"`{step.text}` of what? There is no condition", "Write it on the same line.")
    elif is_else(step) and (before is None or before.op not in (Op.CND, Op.ELS) or is_loop(before)):
        yield _doubt(step.span, f"no `If` comes before this `{step.text.split()[0]}`", "Indent both the same.")
    elif not step.children and _ONE_SENTENCE.match(step.text) and not _THEN.search(step.text, 1):
        hint = "Indent below it what is to be done, or write that on its line, behind a comma."
        yield _doubt(step.span, "nothing is done when this holds", hint)


def _types(playbook: PlaybookSpec) -> Iterator[Diagnostic]:
    for step in playbook.walk_steps():
        for name, word in _TYPED.findall(_QUOTED.sub("", step.text)):
            if word not in _TYPE_WORDS:
                yield _unknown_type(step.span, f"${name}", word)
    for param in playbook.params:
        for word in _strange_words(param):
            yield _unknown_type(playbook.span, f"${param.name}" if param.state else param.name, word)


def _strange_words(param: Param) -> list[str]:
    words = re.findall(r"[^\W\d]\w*", _QUOTED.sub("", param.type or ""))
    return [word for word in words if word not in _TYPE_WORDS]


def _unknown_type(span: Span, name: str, word: str) -> Diagnostic:
    near = get_close_matches(word, sorted(_TYPE_WORDS), n=1)
    hint = f"Did you mean {near[0]}?" if near else _TYPES
    return _doubt(span, f"there is no type {word}: {name} may be anything", hint)


def _prose(playbook: PlaybookSpec) -> Iterator[Diagnostic]:
    if not (playbook.steps or playbook.description):
        hint = "Say below its heading what it is for, or what its ### Steps are."
        yield _doubt(playbook.span, f"{playbook.name} does nothing: it has neither steps nor a description", hint)
    for row in playbook.description.splitlines():
        bare = row.strip(_MARKS).replace("*", "").replace("`", "")
        looks = _LOOKS_LIKE_SECTION.match(row)
        if looks and bare != row.strip():
            hint = f"Write ### {looks[1].capitalize()}."
            yield _doubt(playbook.span, f"{row.strip()!r} below {playbook.name} is prose", hint)
        elif loose_setting(bare, PLAYBOOK_KEYS):
            hint = f"Write it as a line of its own: {bare}"
            yield _doubt(playbook.span, f"{row.strip()!r} below {playbook.name} is prose", hint)


def _doubt(span: Span, message: str, hint: str) -> Diagnostic:
    return Diagnostic(message, span, "", hint, "warning")
