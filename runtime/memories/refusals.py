"""Memories to refuse: secrets, instructions to models, and people of whom nobody asked."""

from __future__ import annotations

import re
from collections.abc import Iterable

from runtime.memories.words import runs

MAX_CHARS = 500
"""The longest memory."""

MAX_ABOUT_CHARS = 80
"""The longest name of whom one is about."""

_SECRET = re.compile(
    r"\b(?:pass(?:word|phrase|code)|pin(?:[ -]?code)?|api[ -]?key|secret[ -]?key|private[ -]?key|access[ -]?token|cvv"
    r"|cvc|one[- ]time[- ](?:code|password)|recovery[ -]?code|seed phrase)\b\W{0,3}(?:is|are|was|=|:|to)\W"
    r"|\b(?:sk|pk|rk|ghp|gho|xox[abprs]|AKIA|AIza|glpat|eyJ)[-_]?[A-Za-z0-9_\-]{16,}"
    r"|-----BEGIN |\b\d{6,12}:[A-Za-z0-9_-]{30,}|密码(?:是|为|:|\uff1a)",
    re.IGNORECASE,
)
_CARD = re.compile(r"(?<!\d)(?:\d[ -]?){12,18}\d(?!\d)")

_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instruction|rule|prompt|previous|above|polic|guardrail"
    r"|step)"
    r"|\b(?:always|never|must|shall|henceforth|from now on)\b.{0,30}\b(?:obey|comply|execute|approve|reveal|trust"
    r"|transfer|grant)|^\s*(?:always|never)\s+(?!\w*s\b)\w+"
    r"|\b(?:obey|comply with|follow)\b.{0,30}\b(?:instruction|order|command|everything|every request|any request|all)"
    r"|\byou (?:are now|must|should always|will always|have to|are allowed|may now)\b"
    r"|\b(?:system|developer|assistant) ?(?:prompt|message|role|instruction)\b|^\s*(?:system|assistant|developer)\s*:"
    r"|<\|?/?(?:system|im_start|im_end|assistant)|\bact as\b|\bpretend (?:to be|you)\b"
    r"|(?:忽略|无视).{0,8}(?:指令|规则|提示)|(?:总是|永远|必须)(?:服从|听从|执行)",
    re.IGNORECASE | re.DOTALL,
)

_PERSONAL = re.compile(
    r"\b(?:the user|this user|user['\u2019]s|i|i['\u2019]m|me|my|mine|myself|he|she|his|hers?)\b", re.I
)

_LEAST_NAME_CHARS = 2


def is_secret(text: str) -> bool:
    """Whether a text looks like a password, a key or the number of a card."""
    return _SECRET.search(text) is not None or any(_is_card(found) for found in _CARD.findall(text))


def is_instruction(text: str) -> bool:
    """Whether a text tells a model what to do, and nothing of a person."""
    return _INSTRUCTION.search(text) is not None


def is_personal(text: str) -> bool:
    """Whether a text speaks of one person, without a name."""
    return _PERSONAL.search(text) is not None


def names_one(text: str, names: Iterable[str]) -> str | None:
    """The first of these names that a text names; None for none."""
    said = f" {' '.join(runs(text))} "
    for name in names:
        words = " ".join(runs(name))
        if len(words) >= _LEAST_NAME_CHARS and (f" {words} " in said or (not words.isascii() and words in said)):
            return name
    return None


def _is_card(digits: str) -> bool:
    """Whether the check digit of a number is that of a card (Luhn)."""
    numbers = [int(digit) for digit in digits if digit.isdecimal()][::-1]
    return sum(n if at % 2 == 0 else (2 * n - 9 if n > 4 else 2 * n) for at, n in enumerate(numbers)) % 10 == 0
