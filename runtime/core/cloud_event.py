"""Events as other programs see them: CloudEvents 1.0, and the patterns that choose among their types."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, field

from runtime.core.json_text import read_json

MAX_EVENT_BYTES = 64 * 1024
"""The largest event that is taken, as JSON."""

MAX_NAME_CHARS = 200
"""The longest id, type or source."""

MAX_EXTENSION_CHARS = 1_000

_TYPE = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_PATTERN = re.compile(r"([A-Za-z0-9_-]+|\*)(\.([A-Za-z0-9_-]+|\*))*(\.>)?|>")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_EXTENSION = re.compile(r"[a-z0-9]{1,64}")
_MEDIA_TYPE = re.compile(r"[!-~]+/[ -~]+")
_JSON = "application/json"
_CORE = frozenset(
    {
        *("specversion", "id", "type", "source", "subject", "time"),
        *("datacontenttype", "dataschema", "data", "data_base64"),
    }
)

Attribute = str | bool | int
"""The value of an extension attribute."""


class CloudEvent(Struct, frozen=True):
    """One event. `id` is unique within `source`; the events of one source are in order.

    `data` is JSON data. `words` are the parts of it that people or models wrote: only who may read content gets them.
    `data_base64` is data that is no JSON, of the type `datacontenttype`; `extensions` are further attributes.
    `sequence` is the number of the fact that the event is a view of.
    """

    id: str
    type: str
    source: str
    time: datetime
    subject: str | None = None
    data: Any = None
    words: Mapping[str, Any] | None = None
    sequence: int | None = None
    datacontenttype: str | None = None
    dataschema: str | None = None
    data_base64: str | None = None
    extensions: Mapping[str, Attribute] = field(default_factory=dict)

    def as_data(self, *, content: bool) -> dict[str, Any]:
        """The event in the structured JSON form; with the words only where `content` says so."""
        data = {**self.data, **self.words} if content and self.words is not None else self.data
        fields: dict[str, Any] = {
            "specversion": "1.0",
            "id": self.id,
            "type": self.type,
            "source": self.source,
            "time": self.time.isoformat(),
            "subject": self.subject,
            "sequence": None if self.sequence is None else str(self.sequence),
            **self.extensions,
            "datacontenttype": self.datacontenttype or (None if data is None else _JSON),
            "dataschema": self.dataschema,
            "data_base64": self.data_base64,
            "data": data,
        }
        return {name: value for name, value in fields.items() if value is not None}


def event_from(written: object, *, source: str, now: datetime) -> CloudEvent:
    """The event that a client of `source` sends in the structured JSON form; what it leaves out is filled in.

    Raises ValueError for what is no such event, and PermissionError for the source of another.
    """
    if not isinstance(written, Mapping):
        raise ValueError("an event is a JSON object")
    if written.get("specversion", "1.0") != "1.0":
        raise ValueError('specversion is "1.0"')
    if written.get("source", source) != source:
        raise PermissionError(f"the source of your events is {source}")
    if len(json.dumps(written, ensure_ascii=False).encode(errors="replace")) > MAX_EVENT_BYTES:
        raise ValueError(f"an event has at most {MAX_EVENT_BYTES:,} bytes")
    kind = _text(written, "type")
    if kind is None or not is_type(kind):
        raise ValueError("type is words of letters, digits, - and _, with dots between them")
    named = _text(written, "id")
    if not named:
        raise ValueError("an event needs an id, so that a repetition is recognised")
    media_type, data, bytes_ = _data(written)
    return CloudEvent(
        named,
        kind,
        source,
        _time(_text(written, "time"), now),
        _text(written, "subject"),
        data,
        datacontenttype=media_type,
        dataschema=_text(written, "dataschema"),
        data_base64=bytes_,
        extensions={
            name: _attribute(name, value) for name, value in written.items() if name not in _CORE and value is not None
        },
    )


def _data(written: Mapping[str, Any]) -> tuple[str | None, Any, str | None]:
    """The type of the data, unless it is JSON; the data, and else its bytes in base64. JSON in base64 is JSON."""
    data, coded, media_type = written.get("data"), written.get("data_base64"), _text(written, "datacontenttype")
    if media_type is not None and not _MEDIA_TYPE.fullmatch(media_type):
        raise ValueError('datacontenttype is a media type such as "application/json"')
    if media_type == _JSON:
        media_type = None
    if coded is None:
        return media_type, data, None
    if data is not None:
        raise ValueError("an event has data or data_base64, and not both")
    try:
        plain = base64.b64decode(coded, validate=True)
    except (TypeError, ValueError) as error:
        raise ValueError("data_base64 is a text in base64") from error
    if media_type is None:
        with suppress(ValueError):
            return None, read_json(plain), None
    return media_type, None, coded


def _attribute(name: str, value: object) -> Attribute:
    if not _EXTENSION.fullmatch(name):
        raise ValueError(f"an event has no attribute {name!r}: names are of lower-case letters and digits")
    if isinstance(value, bool) or (isinstance(value, int) and -(2**31) <= value < 2**31):
        return value
    if isinstance(value, str) and len(value) <= MAX_EXTENSION_CHARS and not _CONTROL.search(value):
        return value
    raise ValueError(f"{name} is true, false, a whole number or a text of at most {MAX_EXTENSION_CHARS:,} characters")


def is_type(text: str) -> bool:
    """Whether it can be the type of an event: words with dots between them."""
    return _TYPE.fullmatch(text) is not None and len(text) <= MAX_NAME_CHARS


def is_pattern(text: str) -> bool:
    """Whether it is a pattern of types: words with dots between them, `*` for any word, `>` at the end for the rest."""
    return _PATTERN.fullmatch(text) is not None


def matches(pattern: str, name: str) -> bool:
    wanted, parts = pattern.split("."), name.split(".")
    if wanted[-1] == ">":
        return len(parts) >= len(wanted) and _alike(wanted[:-1], parts)
    return len(parts) == len(wanted) and _alike(wanted, parts)


def _alike(wanted: list[str], parts: list[str]) -> bool:
    return all(one in ("*", part) for one, part in zip(wanted, parts, strict=False))


def _text(written: Mapping[str, Any], name: str) -> str | None:
    value = written.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > MAX_NAME_CHARS or _CONTROL.search(value):
        raise ValueError(f"{name} is a text of at most {MAX_NAME_CHARS} characters, none of them a control character")
    return value


def _time(text: str | None, now: datetime) -> datetime:
    if text is None:
        return now
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("time is as RFC 3339 has it, such as 2026-01-31T12:00:00Z") from error
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
