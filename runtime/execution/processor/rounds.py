"""Rounds in which nobody was waited for: they tell when a loop goes in circles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.core.errors import PlaybookError
from runtime.language.instructions.conditions.meanings import MEETING_ACTIVE
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.model import Operand, Prose
from runtime.language.instructions.speaking_of import speaks_of_others

IDLE_ROUNDS = 2
"""After this many rounds that waited for nobody, others cannot have ended the loop."""

JUDGED_ROUNDS = 100
"""A model judges at most this many rounds in a row that waited for nobody."""


def counted(state: Mapping[str, Any] | None) -> dict[str, int]:
    """The counts of a round that begins, by the `state` of the one before; None for the first."""
    before = state or {}
    return {count: before.get(count, 0) + 1 for count in ("idle", "same")}


def check_round(tests: Sequence[Operand], state: Mapping[str, Any], step: str, *, meeting: bool) -> None:
    """Raises PlaybookError where the next round of a loop, which ends by one of `tests`, would lead nowhere.

    Tests that the runtime computes are left alone: what they read may come from anywhere. `step` names the
    loop, with its words.
    """
    why = _in_circles(tests, state)
    if why:
        whom = "meeting" if meeting else "user"
        raise PlaybookError(
            f"{step} {why}. Let each round wait, such as \u201cWait for the {whom}\u201d, or say how often "
            "it goes round at most: \u201c\u2026, at most 5 times\u201d."
        )


def _in_circles(tests: Sequence[Operand], state: Mapping[str, Any]) -> str:
    idle, same = state.get("idle", 0), state.get("same", 0)
    if idle < IDLE_ROUNDS or not all(map(_is_for_others_to_say, tests)):
        return ""
    judged = [test.text for test in tests if isinstance(test, Prose) and "$" not in test.text]
    if any(isinstance(test, Expression) for test in tests) or any(map(speaks_of_others, judged)):
        return "went round twice without waiting for anybody, and only others can end it"
    if same >= IDLE_ROUNDS:
        return "went round twice without waiting for anybody, and nothing has changed"
    if tests and idle >= JUDGED_ROUNDS:
        return f"went round {idle} times without waiting for anybody, and a model still says that it goes on"
    return ""


def _is_for_others_to_say(test: Operand) -> bool:
    return isinstance(test, Prose) or MEETING_ACTIVE in test.names
