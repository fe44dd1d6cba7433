"""Triggers by other programs' events: which sentences mean them, and what follows from it."""

import re
from pathlib import Path

import pytest

from runtime.execution.triggers.kinds import judges
from runtime.language.event_triggers import event_trigger, trigger_kind
from runtime.language.program import TriggerKind
from tests.unit.runtime.sessions.programs import agent, python

BUS = Path(__file__).parents[4] / "docs" / "connecting" / "bus.md"


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("When the event shop.order.placed arrives", "shop.order.placed"),
        ("Whenever an event `build.>` comes in.", "build.>"),
        ('When the event "shop.order.placed" is received', "shop.order.placed"),
        ("On the event bot.started", "bot.started"),
        ("After each new event shop.* happens", "shop.*"),
    ],
)
def test_a_sentence_that_names_a_type_is_a_trigger_by_events_of_other_programs(text: str, pattern: str) -> None:
    assert event_trigger(text) == pattern
    assert trigger_kind(text) is TriggerKind.EVT
    assert not judges(agent("Shop", python("Pack", "item", "count", trigger=f"EVT {text}")), ())


@pytest.mark.parametrize(
    "text",
    [
        "When an event is sent",
        "When the event starts",
        "On the event horizon",
        "When a big event happens",
        "When the user mentions the event party",
        "When the event a..b arrives",
        "When a message arrives from the user",
    ],
)
def test_other_sentences_about_events_are_none(text: str) -> None:
    assert event_trigger(text) is None


def test_the_documented_trigger_is_one() -> None:
    said = re.findall(r"^- (When the event .*)$", BUS.read_text(), re.MULTILINE)
    assert [event_trigger(text) for text in said] == ["shop.stock.changed"]
