"""A session as one file: what is written is read again, and what is not whole is refused with its line."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.errors import ConfigError
from runtime.core.files import FileContent, file_id
from runtime.core.ids import SessionId
from runtime.stores.archive import (
    SessionFile,
    end_line,
    file_line,
    files_of,
    header_line,
    session_lines,
)
from runtime.stores.catalog import WholeSession
from runtime.stores.sessions import SessionRecord
from runtime.tape.tape import Fact, session_tape

NOW = datetime(2026, 11, 21, 8, 30, tzinfo=UTC)
PICTURE = FileContent("image/png", bytes(range(256)))
PICTURE_ID = file_id(PICTURE.data, PICTURE.media_type)
SESSION = SessionId("s1")
WRITTEN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("begin", {"program": "1"}),
    ("person", {"id": "test:1", "name": "Grüße\u2028👋"}),
    ("file", {"name": "a.png", "type": "image/png", "url": f"file:{PICTURE_ID}", "size": 256}),
)
FACTS = tuple(Fact(session_tape(SESSION), seq, kind, NOW, data) for seq, (kind, data) in enumerate(WRITTEN, start=1))
WHOLE = WholeSession(
    SessionRecord(SESSION, Address("test", "1", "7"), "hello", NOW, len(FACTS)), True, frozenset({"3"}), list(FACTS)
)
LINES = [header_line(NOW), *session_lines(WHOLE), file_line(PICTURE_ID, PICTURE), end_line(3, 1)]


def read(*lines: str) -> SessionFile:
    return SessionFile("talk.jsonl", lambda: lines)


def refused(*lines: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(*lines).session()
    return str(caught.value)


def changed(number: int, old: str, new: str) -> list[str]:
    """The lines with one that is different."""
    assert old in LINES[number - 1]
    return [line.replace(old, new) if at == number else line for at, line in enumerate(LINES, start=1)]


def test_what_is_written_is_read_again() -> None:
    assert read(*LINES).session() == WHOLE


def test_a_session_that_waits_for_a_time_is_awake_when_it_is_taken_in() -> None:
    more: tuple[tuple[str, dict[str, object]], ...] = (
        ("agent", {"id": "1000", "class": "Main"}),
        ("remind", {"agent": "1000", "due": 5.0, "text": "tea"}),
    )
    facts = [*FACTS, *(Fact(session_tape(SESSION), seq, kind, NOW, data) for seq, (kind, data) in enumerate(more, 4))]
    asleep = replace(WHOLE, awake=False, facts=facts)
    assert read(header_line(NOW), *session_lines(asleep), end_line(5, 0)).session().awake
    assert not read(header_line(NOW), *session_lines(replace(WHOLE, awake=False)), end_line(3, 0)).session().awake
    assert list(read(*LINES).files()) == [PICTURE]
    assert all(line.count("\n") == 1 and line.endswith("\n") for line in LINES)


def test_the_files_of_facts_are_found_once() -> None:
    assert files_of([*FACTS, *FACTS]) == [PICTURE_ID]


@pytest.mark.parametrize("count", range(1, len(LINES)))
def test_a_file_that_was_cut_off_is_refused_wherever_that_was(count: int) -> None:
    assert refused(*LINES[:count]).startswith(f"talk.jsonl:{count}: the file ends here")


def test_an_empty_file_is_refused() -> None:
    assert refused().startswith("talk.jsonl:1: the file is empty")


def test_another_version_is_refused_with_what_to_do() -> None:
    assert "its format is version 2, this Parley reads version 1" in refused(*changed(1, '"version":1', '"version":2'))


def test_what_is_no_session_is_refused() -> None:
    assert refused('{"name": "pyproject"}\n').startswith("talk.jsonl:1: this is not the file of a session")
    assert refused("# Parley\n").startswith("talk.jsonl:1: it is not JSON")


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([*LINES[:3], *LINES[4:]], "talk.jsonl:4: this fact cannot follow the ones before"),
        (changed(3, '"begin"', '"began"'), "talk.jsonl:3: this fact cannot follow the ones before"),
        (changed(4, "s1/session", "s2/session"), "talk.jsonl:4: the tape s2/session is not one of this session"),
        (changed(4, ",{", ",[{"), "talk.jsonl:4: it is not JSON"),
        (changed(6, "AAECAwQ", "AQECAwQ"), "talk.jsonl:6: the file's content is not what its id says"),
        (changed(6, "AAECAwQ", "A!ECAwQ"), "talk.jsonl:6: it is not as this format has it"),
        ([*LINES[:5], LINES[6]], "talk.jsonl:6: it counts {'facts': 3, 'files': 1}, but"),
        ([*LINES, LINES[4]], "talk.jsonl:8: something follows the end of the session"),
        (changed(2, '"address"', '"place"'), "talk.jsonl:2: it is not as this format has it"),
        ([LINES[0], json.dumps({"fakt": 1}), *LINES[1:]], "talk.jsonl:2: nobody knows what fakt is here"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(lines: list[str], why: str) -> None:
    assert refused(*lines).startswith(why)
