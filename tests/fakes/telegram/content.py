"""What may stand in a message: texts with entities, rich texts, buttons, files."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from tests.fakes.telegram.markup import MarkupError, parse, units
from tests.fakes.telegram.refusal import Refusal
from tests.fakes.telegram.rich import check_rich

MAX_UNITS = 4096
MAX_CAPTION = 1024
MAX_UPLOAD = 50 * 1000 * 1000
MAX_PHOTO = 10 * 1000 * 1000
MAX_CALLBACK_BYTES = 64
_CODE = ("code", "pre")
_MENTION = re.compile(r"(?<!\w)@\w{3,}")


class Upload(Struct, frozen=True):
    """A file as it came with a request."""

    name: str
    media_type: str
    data: bytes

    def __len__(self) -> int:
        return len(self.data)


def text_of(
    params: Mapping[str, Any], *, key: str = "text", limit: int = MAX_UNITS
) -> tuple[str, list[dict[str, Any]]]:
    """The text and the entities of a message that the platform takes; user names are found as mentions."""
    entities_key = "entities" if key == "text" else "caption_entities"
    try:
        text, entities = parse(str(params.get(key, "")), params.get("parse_mode", ""))
    except MarkupError as error:
        raise Refusal(400, f"Bad Request: can't parse entities: {error}") from error
    entities = entities or _checked(text, params.get(entities_key, []))
    shown = text.rstrip()
    if key == "text" and not shown.strip():
        raise Refusal(400, "Bad Request: message text is empty")
    if units(shown) > limit:
        raise Refusal(400, f"Bad Request: message {'is' if key == 'text' else 'caption is'} too long")
    return shown, [*entities[:100], *_mentions(shown, entities)]


def _checked(text: str, entities: Any) -> list[dict[str, Any]]:
    length = units(text)
    for entity in entities:
        offset, size = entity["offset"], entity["length"]
        if offset < 0 or size <= 0 or offset + size > length:
            raise Refusal(
                400, f"Bad Request: entity beginning at UTF-16 offset {offset} ends after the end of the text"
            )
        if entity["type"] == "text_link" and not entity.get("url"):
            raise Refusal(400, "Bad Request: can't parse entities: text_link without url")
    return list(entities)


def _mentions(text: str, entities: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """User names that stand in the text and notify whoever has them, but in code and where somebody is mentioned."""
    taken = [(e["offset"], e["offset"] + e["length"]) for e in entities if e["type"] in (*_CODE, "text_mention")]
    found = []
    for match in _MENTION.finditer(text):
        offset, length = units(text[: match.start()]), units(match[0])
        if not any(begin < offset + length and offset < end for begin, end in taken):
            found.append({"type": "mention", "offset": offset, "length": length})
    return found


def rich_of(params: Mapping[str, Any], *, draft: bool = False) -> str:
    """The source of a rich message; only a draft may have a thinking block."""
    given = params["rich_message"]
    sources = [given[kind] for kind in ("html", "markdown") if kind in given]
    if len(sources) != 1 or not sources[0].strip():
        raise Refusal(400, "Bad Request: exactly one of html and markdown must be used")
    if "html" in given:
        check_rich(sources[0], draft=draft)
    return str(sources[0])


def buttons_of(params: Mapping[str, Any]) -> list[list[dict[str, str]]]:
    """The inline keyboard of a call, empty rows left out."""
    rows = params.get("reply_markup", {}).get("inline_keyboard", [])
    for button in (button for row in rows for button in row):
        if not button.get("text"):
            raise Refusal(400, "Bad Request: can't parse inline keyboard button: Text buttons are unallowed")
        if not 1 <= len(button.get("callback_data", "").encode()) <= MAX_CALLBACK_BYTES:
            raise Refusal(400, "Bad Request: BUTTON_DATA_INVALID")
    return [row for row in rows if row]


def upload_of(params: Mapping[str, Any], kind: str) -> Upload:
    upload = params.get(kind)
    if not isinstance(upload, Upload) or not upload.data:
        raise Refusal(400, "Bad Request: file must be non-empty")
    if len(upload) > MAX_UPLOAD or (kind == "photo" and len(upload) > MAX_PHOTO):
        raise Refusal(413, "Request Entity Too Large")
    return upload
