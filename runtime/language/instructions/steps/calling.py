"""What stands behind the name of a call in words: its arguments, and the variable for its result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from runtime.language.instructions.conditions.grammar import FILE, ConditionChart, grammar_of
from runtime.language.instructions.conditions.meanings import ACTIONS
from runtime.language.instructions.conditions.reading import plain_marks
from runtime.language.instructions.conditions.tokens import ConditionToken, tokens_of

_FILES = (FILE, Path(__file__).parent / "calling.grammar")


@lru_cache(maxsize=1024)
def given_to(said: str, params: Collection[str]) -> tuple[str, str] | None:
    """The arguments of a call, and the variable for its result ("" for none); None where people may differ."""
    tokens = tokens_of(plain_marks(said.strip().rstrip(".;")))
    found = ConditionChart(grammar_of(*_FILES), _ACTIONS, tokens).meanings("given") if tokens else ()
    arguments, target = found[0] if len(found) == 1 else ((), None)
    names = [name for name, _ in arguments if name]
    if target is None or len(set(names)) < len(names) or not set(names) <= set(params):
        return None
    if any(one and not other for (one, _), (other, _) in pairwise(arguments)):
        return None
    return ", ".join(f"{name}={value}" if name else value for name, value in arguments), target


def _target(*parts: Any) -> str | None:
    token: ConditionToken = parts[-1]
    return token.text if token.kind == "TYPED" or token.form == "variable" else None


def _named(*parts: Any) -> tuple[str, str]:
    words = [part.text for part in parts if isinstance(part, ConditionToken) and part.text != "="]
    return words[0], words[1]


_ACTIONS: Mapping[str, Callable[..., Any]] = {
    **ACTIONS,
    "given": lambda _, first, others, target: ((first, *others), target or ""),
    "kept": lambda target: ((), target),
    "argument": lambda value: ("", value.text if isinstance(value, ConditionToken) else value),
    "named": _named,
    "target": _target,
}
