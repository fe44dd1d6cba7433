"""Whole sessions outside the database: the port of the archive for those that have been silent for long, and a session
as one file of JSON lines, to be kept or taken elsewhere.

line 1        {"parley": "session", "version": 1, "exported_at": …}
line 2        {"session": {id, address, program, started_at, ended, awake, pages}}
then          {"fact": [seq, tape, kind, at, data]}          in order, from 1, without a gap
then          {"file": {"id": …, "type": …, "data": Base64}}  what the facts refer to and is still kept
last line     {"end": {"facts": …, "files": …}}               so that a file that was cut off is recognised
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.errors import ConfigError, Divergence
from runtime.core.files import FILE_URL, FileContent, file_id
from runtime.core.ids import SessionId, TapeId
from runtime.core.json_text import compact_json
from runtime.stores.catalog import WholeSession
from runtime.stores.sessions import SessionRecord
from runtime.tape.fold import apply_fact
from runtime.tape.state.session import SessionState
from runtime.tape.tape import Fact

VERSION = 1

_FILE = re.compile(rf'"{FILE_URL}([0-9a-f]{{64}})"')


class SessionArchive(Protocol):
    """Stores sessions until they are removed. Raises ArchiveUnavailable, and nothing else."""

    async def put(self, whole: WholeSession, /) -> None:
        """Store a session in place of its earlier copy."""

    async def get(self, session: SessionId, /) -> WholeSession | None: ...

    async def remove(self, session: SessionId, /) -> bool:
        """Remove a session; returns whether it was there."""

    def sessions(self) -> AsyncIterator[SessionId]:
        """Every stored session once, in no order."""


class PutsAway(Protocol):
    """Moves sessions out of the database. Raises ArchiveUnavailable or StorageUnavailable, and nothing else."""

    async def put_away(self, session: SessionId, /) -> bool:
        """Move a session's facts to the archive until somebody speaks with it again; its record stays.

        False, and nothing changed, when there is none, when it is working, or when another continues it.
        """


def header_line(exported_at: datetime) -> str:
    """The first line."""
    return _line({"parley": "session", "version": VERSION, "exported_at": exported_at.isoformat()})


def session_lines(whole: WholeSession) -> Iterator[str]:
    """The lines of a session and its facts."""
    record = whole.record
    address = [record.address.platform, record.address.conversation, record.address.thread]
    about = {
        "id": record.id,
        "address": address,
        "program": record.program,
        "started_at": record.started_at.isoformat(),
        "ended": record.ended,
        "awake": whole.awake,
        "pages": sorted(whole.pages),
    }
    yield _line({"session": about})
    for fact in whole.facts:
        yield _line({"fact": [fact.seq, fact.tape, fact.kind, fact.at.isoformat(), fact.data]})


def file_line(id_: str, content: FileContent) -> str:
    data = base64.b64encode(content.data).decode("ascii")
    return _line({"file": {"id": id_, "type": content.media_type, "data": data}})


def end_line(facts: int, files: int) -> str:
    """The last line, with the numbers of facts and files."""
    return _line({"end": {"facts": facts, "files": files}})


def files_of(facts: Iterable[Fact]) -> Sequence[str]:
    """The ids of the files of our own store that facts refer to, each once."""
    found: dict[str, None] = {}
    for fact in facts:
        found |= dict.fromkeys(_FILE.findall(json.dumps(fact.data)))
    return list(found)


class _Reading(Struct):
    """The progress of reading a file."""

    about: Mapping[str, Any] | None = None
    facts: list[Fact] = field(default_factory=list)
    state: SessionState = field(default_factory=SessionState)
    files: int = 0
    ended: bool = False


class SessionFile:
    """Reads such a file. `lines` opens it again; `name` is its name in errors, with the number of the line.

    Every method raises ConfigError for a file that is broken, cut off, or of another version.
    """

    def __init__(self, name: str, lines: Callable[[], Iterable[str]]) -> None:
        self._name = name
        self._lines = lines

    def session(self) -> WholeSession:
        """The session. Everything in the file has been checked by then."""
        reading, number = _Reading(), 1
        for number, item in self._items():
            if reading.ended:
                raise self._wrong(number, "something follows the end of the session")
            try:
                self._take(reading, number, item)
            except (KeyError, TypeError, ValueError, AttributeError, binascii.Error) as error:
                raise self._wrong(number, f"it is not as this format has it ({error!r})") from error
        if not reading.ended or reading.about is None:
            raise self._wrong(number, "the file ends here, before the session does; it was cut off")
        whole = _whole(reading.about, reading.facts)
        # A timer does not come with the file: who waits for a time is to be taken into memory first.
        return whole if reading.state.next_due() is None else replace(whole, awake=True)

    def files(self) -> Iterator[FileContent]:
        """The files, one after the other."""
        for _, item in self._items():
            if "file" in item:
                yield _content(item["file"])

    def _items(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        number = 0
        for number, line in enumerate(self._lines(), start=1):
            try:
                item = json.loads(line)
            except ValueError as error:
                raise self._wrong(number, f"it is not JSON ({error})") from error
            if not isinstance(item, dict):
                raise self._wrong(number, "it is not an object")
            if number == 1:
                self._check_header(item)
            else:
                yield number, item
        if number == 0:
            raise self._wrong(1, "the file is empty")

    def _check_header(self, header: Mapping[str, Any]) -> None:
        if header.get("parley") != "session":
            raise self._wrong(1, "this is not the file of a session; parley sessions export writes one")
        if header.get("version") != VERSION:
            raise self._wrong(
                1,
                f"its format is version {header.get('version')}, this Parley reads version {VERSION}. Import it with "
                "the Parley that wrote it, or one that is as new",
            )

    def _take(self, reading: _Reading, number: int, item: Mapping[str, Any]) -> None:
        if "session" in item and reading.about is None:
            reading.about = item["session"]
            _whole(reading.about, ())
        elif "fact" in item and reading.about is not None:
            self._take_fact(reading, number, item["fact"])
        elif "file" in item:
            content = _content(item["file"])
            if file_id(content.data, content.media_type) != item["file"]["id"]:
                raise self._wrong(number, "the file's content is not what its id says; it was changed")
            reading.files += 1
        elif "end" in item:
            counted = {"facts": len(reading.facts), "files": reading.files}
            if item["end"] != counted:
                raise self._wrong(number, f"it counts {item['end']}, but {counted} came before; lines are missing")
            reading.ended = True
        else:
            raise self._wrong(number, f"nobody knows what {', '.join(item) or 'an empty object'} is here")

    def _take_fact(self, reading: _Reading, number: int, data: Sequence[Any]) -> None:
        fact = _fact(data)
        if reading.about is None or fact.tape.rpartition("/")[0] != reading.about["id"]:
            raise self._wrong(number, f"the tape {fact.tape} is not one of this session")
        try:
            apply_fact(reading.state, fact)
        except (Divergence, LookupError) as error:
            raise self._wrong(number, f"this fact cannot follow the ones before: {error}") from error
        reading.facts.append(fact)

    def _wrong(self, number: int, what: str) -> ConfigError:
        return ConfigError(f"{self._name}:{number}: {what}. Nothing was imported.")


def session_from(items: Sequence[Mapping[str, Any]]) -> WholeSession:
    """The session of `session_lines`, read as JSON. Raises LookupError, TypeError or ValueError for other data."""
    about, *facts = items
    return _whole(about["session"], [_fact(item["fact"]) for item in facts])


def _fact(data: Sequence[Any]) -> Fact:
    seq, tape, kind, at, content = data
    return Fact(TapeId(tape), seq, kind, datetime.fromisoformat(at), content)


def _whole(about: Mapping[str, Any], facts: Sequence[Fact]) -> WholeSession:
    started_at = datetime.fromisoformat(about["started_at"])
    id_, address = SessionId(about["id"]), Address(*about["address"])
    record = SessionRecord(id_, address, about["program"], started_at, len(facts), bool(about["ended"]))
    return WholeSession(record, bool(about["awake"]), frozenset(about["pages"]), facts)


def _content(data: Mapping[str, str]) -> FileContent:
    return FileContent(data["type"], base64.b64decode(data["data"], validate=True))


def _line(item: Mapping[str, Any]) -> str:
    return compact_json(item) + "\n"
