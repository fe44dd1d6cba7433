"""Likely causes of failures: by the type of the error, else by its text."""

from __future__ import annotations

import pytest

from gateway.features.reports.account import _OF_TYPE, _TEXTS, UNKNOWN, cause_of
from runtime.core.texts import english


@pytest.mark.parametrize(
    ("error_type", "text", "cause"),
    [
        ("RemoteUnavailable", "Weather does not answer", "tool_down"),
        ("ToolFailed", "no such city", "tool_failed"),
        ("LLMTimeout", "", "late"),
        ("RuntimeError", "Weather.forecast took longer than 30 s and was given up", "late"),
        ("LLMUnavailable", "connection refused", "model_away"),
        ("PlaybookError", "8 tasks are already running, the limit of one orderer", "budget"),
        ("ValueError", "invalid literal for int() with base 10: 'x'", "wrong_type"),
        ("ValueError", "a time in seconds is not a word", "wrong_type"),
        ("PlaybookError", "task 1 (Researcher.Wait) failed: it ran out of time", "late"),
        ("PlaybookError", "there is no agent class 'Cook'", "not_there"),
        ("KeyError", "'city'", "not_there"),
        ("ZeroDivisionError", "division by zero", "arithmetic"),
        ("PlaybookError", "Divide:01:EXE: division by zero", "arithmetic"),
        ("CakeError", "it fell", UNKNOWN),
    ],
)
def test_a_common_error_has_its_cause(error_type: str, text: str, cause: str) -> None:
    assert cause_of(error_type, text) == cause


def test_every_cause_has_its_texts_and_every_text_its_cause() -> None:
    causes = {*_OF_TYPE.values(), *(cause for cause, _ in _TEXTS), UNKNOWN}
    for kind in ("cause", "try"):
        prefix = f"debug.{kind}_"
        assert {key.removeprefix(prefix) for key in english() if key.startswith(prefix)} == causes
