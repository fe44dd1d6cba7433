"""A step's sentence as its agent would say it: "Tell the user that they pay $total euros" is "You pay 12 euros."."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from runtime.language.vocabulary.phrase import phrase, phrases_of
from runtime.language.vocabulary.word_list import WORD

_VARIABLE = re.compile(r"\$([^\W\d]\w*)(?::[A-Za-z]\w*(?:\[[^\]\n]*\])?)?|\{\$?([^\W\d]\w*)\}")
_FORMS = phrases_of("Direct speech")
"""Authors' sentences by their direct speech. In `what`, "they" becomes "you", and "you" becomes "I"."""

_TURNED: Mapping[str, str] = {
    "they": "you",
    "them": "you",
    "their": "your",
    "theirs": "yours",
    "themselves": "yourself",
    "you": "I",
    "your": "my",
    "yours": "mine",
    "yourself": "myself",
}


def without_bookkeeping(text: str, wanted: Collection[str]) -> str:
    """A question without the variable for its answer: a model asks "who is coming", not "and keep it as …"."""
    bare = text.strip().rstrip(".")
    found = phrase("answer kept behind speech").inside(bare)
    return bare[: found.start()].rstrip() if found and found["name"] in wanted else text


def direct_speech(text: str, names: Mapping[str, Any]) -> str | None:
    """The words of a message, if its sentence states nearly all of them; None for others. `names` are the values."""
    told = _valued(phrase("kept behind speech").left_out_of(text.strip().rstrip(".")).rstrip(), names)
    if told is None:
        return None
    said = [_sentence(clause) for clause in phrase("next message").between(told)]
    return " ".join(one for one in said if one) if all(said) else None


def _valued(text: str, names: Mapping[str, Any]) -> str | None:
    """A text with the values of its variables, and the names of unset ones; None if a value is no word."""
    found = [found[1] or found[2] for found in _VARIABLE.finditer(text)]
    if any(
        not isinstance(names.get(name, ""), str | int | float) or isinstance(names.get(name), bool) for name in found
    ):
        return None

    def value(one: re.Match[str]) -> str:
        name = one[1] or one[2]
        return str(names[name]) if name in names else name.replace("_", " ")

    return _VARIABLE.sub(value, text)


def _sentence(clause: str) -> str | None:
    """The direct speech of one clause; None if it refers to the person in another way, or has an unknown form."""
    found, form = next(
        ((found, form) for form, one in _FORMS.items() if (found := one.begins(clause.strip()))), (None, "")
    )
    if found is None or "\n" in found["what"] or phrase("the person").inside(found["what"]):
        return None
    turned = WORD.sub(lambda word: _TURNED.get(word[0].lower(), word[0]), found["what"])
    said = form.format(what=turned, verb=found["verb"], word=found["word"])
    return said[0].upper() + said[1:]


def is_instruction(text: str) -> bool:
    """Whether words say what is to be said, and cannot be the message themselves."""
    return bool(phrase("instructs").begins(text))
