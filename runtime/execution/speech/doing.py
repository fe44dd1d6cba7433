"""What an agent is doing, in a few words for people."""

from __future__ import annotations

import re

from runtime.core.texts import Texts

MAX_DOING_CHARS = 80

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_DOUBLED = frozenset({"begin", "cut", "get", "plan", "put", "run", "set", "stop", "submit"})
_STEP_CALL = re.compile(r"(?:\$?\w+(?::\w+)?\s*=\s*)?([A-Z]\w*(?:\.\w+)?)\(.*\)\s*\Z", re.DOTALL)


def doing_call(name: str, texts: Texts) -> str:
    """`LookUpTaxCodes` as "looking up tax codes"; a call of another agent's playbook as "asks Accountant"."""
    owner, _, playbook = name.rpartition(".")
    if owner:
        return texts("doing.asks", agent=owner)
    words = [word if word.isupper() and len(word) > 1 else word.lower() for word in _WORD.findall(playbook)]
    return _shortened(" ".join([_gerund(words[0]), *words[1:]])) if words else playbook


def doing_step(text: str, texts: Texts) -> str | None:
    """A step in the words of its program; one that is a call, as the call. None for a step without words."""
    called = _STEP_CALL.fullmatch(text.strip())
    if called is not None:
        return doing_call(called[1], texts)
    first = text.split(";")[0].strip().rstrip(".")
    word, _, rest = first.partition(" ")
    if not word.isalpha():
        return None
    return _shortened(f"{_gerund(word.lower())} {rest}".strip())


def _gerund(verb: str) -> str:
    if verb.endswith("ing") or verb.isupper():
        return verb
    if verb in _DOUBLED:
        return verb + verb[-1] + "ing"
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    return (verb[:-1] if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) else verb) + "ing"


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_DOING_CHARS else text[: MAX_DOING_CHARS - 1] + "…"
