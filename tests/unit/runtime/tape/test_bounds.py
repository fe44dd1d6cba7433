"""No text on a tape is without a bound, whichever fact it is in."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from runtime.core.ids import AgentId, SessionId
from runtime.core.plain_text import MAX_ERROR_CHARS
from runtime.tape.bounds import MAX_FACT_CHARS
from runtime.tape.facts.content import Content
from runtime.tape.facts.frames import FrameStarted
from runtime.tape.facts.registry import content_of
from runtime.tape.journal import Batch, Journal
from tests.fakes.clock import FakeClock
from tests.unit.runtime.tape.random_facts import KINDS, Facts

Path = tuple[str | int, ...]


async def nowhere(_: Batch, /) -> None: ...


def texts(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where texts stand in data."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from texts(item, (*path, number))


def longest(value: Any) -> int:
    return max((len(_at(value, path)) for path in texts(value)), default=0)


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def with_text(value: Any, path: Path, text: str) -> Any:
    """The data with another text at `path`."""
    copied = json.loads(json.dumps(value))
    if not path:
        return text
    _at(copied, path[:-1])[path[-1]] = text
    return copied


def noted(journal: Journal, kind: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fact as it goes onto the tape."""
    kept: list[Content] = []
    journal.noted.subscribe(kept.append)
    journal.note(content_of(kind, data))
    return kept[-1].data()


def test_a_text_of_any_length_in_any_fact_is_cut_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 100_000
    monkeypatch.setattr("runtime.tape.journal.MAX_FACT_CHARS", most)  # the real bound takes the same way, only longer
    chance = random.Random(1)
    facts, journal = Facts(chance), Journal(SessionId("s"), FakeClock(), nowhere)
    tried: set[tuple[str, str]] = set()
    for _ in range(600):
        kind, data = facts()
        places = [path for path in texts(data) if (kind, str(path[0])) not in tried]
        if places:
            path = chance.choice(places)
            tried.add((kind, str(path[0])))
            try:
                kept = noted(journal, kind, with_text(data, path, "x" * (most + 1)))
            except ValueError:
                journal.note(content_of(kind, {**data}))
            else:
                assert longest(kept) <= MAX_ERROR_CHARS, (kind, path)
        else:
            journal.note(content_of(kind, {**data}))
    assert len({kind for kind, _ in tried}) > len(KINDS) / 2


REASONS = [
    ("ret", {"f": "1000.0", "exc": ["ValueError", "x" * 10_000_000]}),
    ("broken", {"why": "x" * 9_000}),
]


@pytest.mark.parametrize(("kind", "data"), REASONS, ids=[kind for kind, _ in REASONS])
def test_what_a_fact_says_of_a_failure_is_cut(kind: str, data: dict[str, Any]) -> None:
    journal = Journal(SessionId("s"), FakeClock(), nowhere)
    journal.note(content_of("agent", {"id": "1000", "vars": {}, "class": "Main"}))
    journal.note(FrameStarted("1000.0", AgentId("1000"), "Main", [], {}, "1"))
    assert longest(noted(journal, kind, data)) == MAX_ERROR_CHARS


def test_data_that_a_fact_cannot_take_is_refused_in_words() -> None:
    journal = Journal(SessionId("s"), FakeClock(), nowhere)
    with pytest.raises(ValueError, match="longer than 32,000,000 characters; keep large values in files"):
        journal.note(content_of("agent", {"id": "1000", "vars": {"a": "x" * MAX_FACT_CHARS}, "class": "Main"}))
    assert journal.pending == 0
