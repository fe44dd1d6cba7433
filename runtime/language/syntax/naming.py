"""Names derived from headings."""

from __future__ import annotations

import keyword
import re
import unicodedata

from runtime.language.vocabulary.word_list import WORD

STATEMENTS = frozenset({"Say", "Step", "Var", "Return", "Yld", "Trigger"})
"""The statements of a model's replies, whose names no playbook can have."""


NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_AROUND = " \t:;.,!?*`~'\""
"""What people put around a name in a heading."""


def agent_name(text: str) -> str | None:
    """The class name of an agent: "Tax (US) agent" -> TaxUsAgent. None when there is no letter to begin with."""
    text = text.strip(_AROUND)
    one_word = text.isidentifier() and "_" not in text and text[0].title() == text[0]
    return unicodedata.normalize("NFKC", text) if one_word else camel_case(text)


def playbook_name(text: str) -> str | None:
    """The name of a playbook: one word stays as it is, "Redesign menu" -> RedesignMenu."""
    text = text.strip(_AROUND)
    return unicodedata.normalize("NFKC", text) if text.isidentifier() else camel_case(text)


def is_taken(name: str) -> bool:
    """Whether a name has another meaning where playbooks are called."""
    return keyword.iskeyword(name) or name in STATEMENTS


def spaced(name: str) -> str:
    """The words of a CamelCase name: HeadChef -> Head Chef."""
    return name if name.islower() else _HUMP.sub(" ", name)


def without_gaps(text: str) -> str:
    """A name without what stands between its words."""
    return "".join(text.replace("_", " ").replace("-", " ").split())


def camel_case(text: str) -> str | None:
    """Each word capitalised, with the rest in lower case, and only letters and digits kept."""
    text = unicodedata.normalize("NFKC", text).replace("'", "").replace("\u2019", "")
    words = WORD.findall(text.replace("_", " "))
    name = "".join(word.capitalize() for word in words)
    return name if name.isidentifier() and name.isprintable() else None
