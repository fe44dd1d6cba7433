"""Steps in their author's words, without codes, for models and for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from runtime.core.plain_text import shortened
from runtime.core.texts import Texts
from runtime.language.instructions.decode import decode
from runtime.language.instructions.model import Call
from runtime.language.program import Step

MAX_SHOWN_CHARS = 80

_CODES = re.compile(r";?\s*YLD for [^;]*|;?\s*done when [^;]*")
_SAY = re.compile(r"\ASay\((?P<to>[^,()]*),\s*(?P<words>.*?)\)?\Z", re.DOTALL)


def step_words(text: str) -> str:
    bare = _CODES.sub("", text).strip()
    said = _SAY.match(bare)
    if said is None:
        coded = bare.replace(".", "").isdigit() or (bare[:4] == "for " and bare[4:].isidentifier())
        return "" if coded else bare
    return said["words"].split("; Say(")[0].removesuffix(")") if said["words"] else bare


def script_lines(step: Step, depth: int) -> Iterator[str]:
    """A step and those below it, in words, each on a line that is indented as deep."""
    words = step_words(step.text)
    if words:
        yield f"{'  ' * depth}- {words}"
    for child in step.children:
        yield from script_lines(child, depth + 1)


def shown_step(step: Step, texts: Texts) -> str | None:
    """A step for the line that tells people what an agent does: its own words, or the playbook that it calls. None for
    a step without words."""
    head = decode(step).head
    return shown_call(head.name, texts) if isinstance(head, Call) else shown_words(step)


def shown_words(step: Step) -> str | None:
    """A step's own words for that line; None without any."""
    return shortened(step_words(step.text), MAX_SHOWN_CHARS) or None


def shown_call(name: str, texts: Texts) -> str:
    """`LookUpTaxCodes` as "Look up tax codes"; a call of another agent's playbook as "asks Accountant"."""
    owner, _, playbook = name.rpartition(".")
    if owner:
        return texts("doing.asks", agent=owner)
    first, *others = _words(playbook)
    others = [word if word.isupper() and len(word) > 1 else word.lower() for word in others]
    return shortened(" ".join([first[:1].upper() + first[1:], *others]), MAX_SHOWN_CHARS)


def _words(name: str) -> list[str]:
    """The words of a name in `CamelCase` or `snake_case`: `ParseCSVFile2` has four."""
    return "".join(_with_blanks(name)).replace("_", " ").split() or [name]


def _with_blanks(name: str) -> Iterator[str]:
    for before, (char, behind) in zip(" " + name, pairwise(name + " "), strict=False):
        begins = char.isupper() and (not before.isupper() or behind.islower())
        yield f" {char}" if begins or char.isdigit() != before.isdigit() else char
