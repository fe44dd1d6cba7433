"""A step's sentence as its agent would say it: "Tell the user that they pay $total euros" is "You pay 12 euros."."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from runtime.language.vocabulary.phrase import phrase, phrases_of, words_of
from runtime.language.vocabulary.word_list import WORD

_VARIABLE = re.compile(r"\$([^\W\d]\w*)(?::[A-Za-z]\w*(?:\[[^\]\n]*\])?)?|\{\$?([^\W\d]\w*)\}")
_FORMS = phrases_of("Direct speech")
"""Authors' sentences by their direct speech. In their parts, "they" becomes "you", and "you" becomes "I"."""

_TURNED: Mapping[str, str] = {
    "they": "you",
    "them": "you",
    "their": "your",
    "theirs": "yours",
    "themselves": "yourself",
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
    theirs = "their".join(phrase("of the person").between(text.strip().rstrip(".")))
    bare = phrase("kept behind speech").left_out_of(theirs).rstrip()
    values: dict[str, str] = {}
    for name in (found[1] or found[2] for found in _VARIABLE.finditer(bare)):
        value = names.get(name, name.replace("_", " "))
        if not isinstance(value, str | int | float) or isinstance(value, bool) or "\n" in str(value):
            return None
        values[name] = str(value)
    told = _VARIABLE.sub(lambda found: f"${found[1] or found[2]}", bare)
    said = [_sentence(clause, values) for clause in phrase("next message").between(told)]
    return " ".join(said) if all(said) else None  # type: ignore[arg-type]


def _sentence(clause: str, values: Mapping[str, str]) -> str | None:
    """The direct speech of one clause; None if it refers to the person in another way, or has an unknown form."""
    alone = phrase("told as it is").is_all_of(clause.strip())
    if alone and (value := values[alone["what"][1:]]).endswith((".", "!", "?")):
        return value
    read = ((one.begins(clause.strip()), form) for form, one in _FORMS.items())
    found, form = next((pair for pair in read if pair[0]), (None, ""))
    if found is None or "\n" in found["what"] or phrase("the person").inside(found["what"]):
        return None
    parts = {name: _turned(found[name]) for name in ("what", "who", "verb")}
    said = form.format(word=_turned(found["word"].replace("_", " ")), **parts)
    said = _VARIABLE.sub(lambda name: values[name[1]], said)
    return said[0].upper() + (said[1:-1] if said[-2:-1] in (".", "!", "?") else said[1:])


def _turned(text: str) -> str:
    """A text as one says it to the other."""
    before = said = ""

    def turned(found: re.Match[str]) -> str:
        nonlocal before, said
        last, before = before, found[0].lower()
        named = text[: found.start()].endswith("$")
        be = {"are": "am", "were": "was"}.get(before, found[0])
        mine = be if said == "I" else "me" if last in words_of("before me") else "I"
        said = found[0] if named else mine if before == "you" or said == "I" else _TURNED.get(before, found[0])
        return said

    return WORD.sub(turned, text)


def is_instruction(text: str) -> bool:
    """Whether words say what is to be said, and cannot be the message themselves."""
    return bool(phrase("instructs").begins(text))
