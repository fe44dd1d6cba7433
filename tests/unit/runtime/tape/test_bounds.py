"""No text on a tape is without a bound, whichever fact it is in."""

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from runtime.core.ids import AgentId, SessionId
from runtime.core.plain_text import MAX_ERROR_CHARS
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import FrameStarted
from runtime.tape.facts.registry import KINDS as REGISTERED
from runtime.tape.facts.registry import content_of
from runtime.tape.journal import CommitBatch, Journal
from runtime.tape.tape import MAX_FACT_CHARS, with_short_reasons
from tests.fakes.clock import FakeClock
from tests.unit.runtime.tape.facts.test_old_tapes import TAPES
from tests.unit.runtime.tape.random_facts import KINDS, Facts

WITHOUT_TEXTS = {
    "ended",
    "order_answered",
    "publish_done",
    "returned",
    "task_cancel",
    "task_taken",
    "task_tell",
    "told",
    "wake",
    "word_done",
    "word_heard",
}
"""The kinds of facts in which no text stands."""

YOUNGER: Mapping[str, Mapping[str, Any]] = {
    "acked": {"message": "x", "who": "guest:Pager", "has": True},
    "altered": {"agent": "1000", "set": {"a": "x"}},
    "described": {"f": "1000.0", "text": "x"},
    "dismissed": {"agent": "1000"},
    "feedback": {"pid": "m1", "person": "test:Ada", "rating": "up", "agent": "1000", "step": "x", "model": "x"},
    "grew": {"page": "3", "at": 0, "text": "x"},
    "intent": {"f": "1000.0", "pos": "0", "name": "Say", "dig": "d", "key": "x"},
    "memory": {
        "id": "x",
        "scope": "place",
        "whose": "test:1",
        "owner": "test:Ada",
        "about": "Bob",
        "text": "x",
        "made": 5.0,
        "message": "m1",
        "replaces": ["y"],
    },
    "memory_back": {"id": "x"},
    "memory_gone": {"id": "x"},
    "memory_kept": {"id": "x"},
    "model": {"purpose": "execute", "model": "x"},
    "publish": {"agent": "1000", "type": "a.b", "values": {"item": "x"}, "hops": 1},
    "quoted": {"people": ["test:Ada"]},
    "speech": {"page": "3", "agent": "1000", "text": "x"},
    "relocal": {"f": "1000.0", "set": {"a": "x"}},
    "spoken": {"page": "3", "note": "4"},
    "voice": {"person": "test:1", "on": True},
    "transcribed": {"page": "3", "message": "m1", "person": "test:1", "spoken": ["x", "english", "x", ""]},
    "order": {
        "number": 1,
        "orderer": "s",
        "home": ["test", "1", None],
        "place": ["test", "1", None],
        "due": 5.0,
        "depth": 0,
    },
    "order_asks": {"ask": "a.1", "pids": ["m1"], "of": ["test:Ada"], "words": True},
    "order_begun": {"f": "1000.0"},
    "order_over": {"status": "completed", "val": "x", "error": "e"},
    "order_told": {"ask": "a.1"},
    "reported": {"seq": 1, "report": 1, "count": 1},
    "run": {"run": "x"},
    "run_over": {"run": "x", "how": "answered"},
    "spawn": {
        "agent": "1",
        "task": "s",
        "class": "A",
        "pb": "B",
        "args": {"a": "x"},
        "due": 5.0,
        "deliver": "x",
        "depth": 0,
    },
    "task_answer": {"task": 1, "event": "7", "ask": "a.1"},
    "task_asks": {"task": 1, "ask": "a.1", "pids": ["m1"], "of": ["test:Ada"], "words": True},
    "uncaught": {"seq": 1, "type": "x", "where": ["a", "b", None, []]},
    "task_over": {"task": 1, "status": "completed", "val": "x", "error": "e", "first": 0, "last": 0},
    "task_posted": {"task": 1, "what": "x"},
    "unremind": {"id": "x"},
    "word_down": {"agent": "1000", "task": 1, "text": "x", "hops": 1},
    "word_lost": {"other": "x", "seq": 5},
    "word_told": {"other": "x", "seq": 5},
    "word_up": {"agent": "1000", "text": "x", "hops": 1},
}
"""Facts of the kinds that are not on the old tapes."""

Path = tuple[str | int, ...]


async def nowhere(_: CommitBatch, /) -> None: ...


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
    kept: list[FactContent] = []
    journal.noted.subscribe(kept.append)
    journal.note(content_of(kind, data))
    return kept[-1].data()


def test_a_text_of_any_length_in_any_fact_is_cut_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 100_000
    monkeypatch.setattr("runtime.tape.journal.MAX_FACT_CHARS", most)  # the real bound takes the same way, only longer
    chance = random.Random(1)
    facts, journal = Facts(chance), Journal(SessionId("s"), FakeClock(), nowhere)
    tried: set[tuple[str, str]] = set()
    for _ in range(1_800):
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
    assert {kind for kind, _ in tried} == set(KINDS)


def test_no_kind_of_fact_takes_a_text_of_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text of every kind of fact that sessions have written, in the order in which these wrote them."""
    most = 100_000
    monkeypatch.setattr("runtime.tape.journal.MAX_FACT_CHARS", most)
    tried: set[tuple[str, str]] = set()
    for line in TAPES:
        journal = Journal(SessionId("s"), FakeClock(), nowhere)
        for _, _, kind, _, data in line["facts"]:
            kept: Mapping[str, Any] | None = None
            for path in texts(data):
                if kept is None and (kind, str(path[0])) not in tried:
                    tried.add((kind, str(path[0])))
                    kept = taken(journal, kind, with_text(data, path, "x" * (most + 1)))
            if kept is None:
                journal.note(content_of(kind, data))
            else:
                assert longest(kept) <= MAX_ERROR_CHARS, kind
    assert set(REGISTERED) - {kind for kind, _ in tried} == WITHOUT_TEXTS | YOUNGER.keys()


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, data in YOUNGER.items() for path in texts(data)])
def test_no_younger_kind_of_fact_takes_one_either(kind: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 100_000
    monkeypatch.setattr("runtime.tape.journal.MAX_FACT_CHARS", most)
    journal = Journal(SessionId("s"), FakeClock(), nowhere)
    data = with_short_reasons(with_text(YOUNGER[kind], path, "x" * (most + 1)))
    if path == ("error",):
        assert longest(data) <= MAX_ERROR_CHARS
    else:
        assert taken(journal, kind, data) is None


def taken(journal: Journal, kind: str, data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The fact as it goes onto the tape; None for one that is refused."""
    try:
        return noted(journal, kind, data)
    except ValueError:
        return None


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
