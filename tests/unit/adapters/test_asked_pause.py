"""Pauses that platforms ask for."""

from __future__ import annotations

import pytest

from adapters.platform_clock import asked_pause_s


@pytest.mark.parametrize(("told", "pause_s"), [(7, 7.0), ("7", 7.0), (0.25, 0.25), ("0", 0.0), (13_938, 13_938.0)])
def test_a_number_of_seconds_is_waited_for(told: object, pause_s: float) -> None:
    assert asked_pause_s(told, 60.0) == pause_s


@pytest.mark.parametrize(
    "told", [None, "", "Wed, 21 Oct 2026 07:28:00 GMT", "nan", float("inf"), "-5", -5, "soon", [7]]
)
def test_what_is_no_number_of_seconds_is_the_pause_of_those_who_say_nothing(told: object) -> None:
    assert asked_pause_s(told, 60.0) == 60.0
