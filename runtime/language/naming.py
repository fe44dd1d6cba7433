"""Names out of headings."""

from __future__ import annotations

import keyword
import re
import unicodedata

STATEMENTS = frozenset({"Say", "Step", "Var", "Return", "Yld", "Trigger"})
"""What a model writes in its replies: no playbook can have these names."""

_CAMEL = re.compile(r"[A-Z][A-Za-z0-9]*\Z")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def agent_name(text: str) -> str | None:
    """The class name of an agent: "Tax (US) agent" -> TaxUsAgent. None when there is no letter to begin with."""
    return text if _CAMEL.match(text) else camel_case(text)


def playbook_name(text: str) -> str | None:
    """The name of a playbook: one word stays as it is, "Redesign menu" -> RedesignMenu."""
    return text if _PLAIN.match(text) else camel_case(text)


def is_taken(name: str) -> bool:
    """Whether a name means something else where playbooks are called."""
    return keyword.iskeyword(name) or name in STATEMENTS


def camel_case(text: str) -> str | None:
    """Each word capitalized, the rest of it in lower case, everything but letters and digits gone."""
    text = re.sub("['\u2019]", "", unicodedata.normalize("NFKC", text))
    words = re.findall(r"[^\W_]+", text)
    name = "".join(word.capitalize() for word in words)
    return name if name.isidentifier() and name.isprintable() else None
