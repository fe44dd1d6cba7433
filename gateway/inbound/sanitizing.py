"""Sanitizing of names of people and files. People choose names themselves, sometimes to deceive."""

from __future__ import annotations

import re

from msgspec.structs import replace

from adapters.adapter import Inbound
from runtime.core import plain_text
from runtime.core.files import clean_file_name
from runtime.core.message import Attachment
from runtime.core.quote import MAX_AROUND, MAX_LEVELS, MAX_QUOTED, Quote

MAX_NAME = 64

_COLONS = ":\uff1a\ufe55\u2236\ua789\u02d0\u02f8\u0589\u05c3\u16ec"
_SPEAKS = re.compile(rf"\s*[{_COLONS}]+(?=\s|\Z)")
"""What stands before somebody's words: behind a name, a colon and the text after it look like what they say."""

_ROLE = re.compile(r"[(\uff08]\s*((?:user|agent|shown as)\b[^()\uff08\uff09]*)[)\uff09]", re.IGNORECASE)
"""What we write behind names to say who somebody is."""

UNKNOWN_TYPE = "application/octet-stream"
_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,90}(;[\w \t.+=\"-]{0,60})?", re.ASCII)


def tidied(event: Inbound) -> Inbound:
    """The event with names on one short line without invisible characters, and texts that can be stored."""
    quotes = event.around if event.quote is None else (event.quote, *event.around)
    bounded = tuple(_bounded(quote) for quote in quotes[:MAX_AROUND])
    return replace(
        event,
        person_name=clean_name(event.person_name) or event.person_id.rpartition(":")[2],
        text=_whole(event.text),
        looking_at=_whole(event.looking_at),
        quote=None if event.quote is None else bounded[0],
        around=bounded if event.quote is None else bounded[1:],
        attachments=tuple(_tidied_file(file) for file in event.attachments),
    )


def _bounded(quote: Quote, level: int = 1) -> Quote:
    """The quote within the limits, and what is in it."""
    inside = quote.inside[:MAX_AROUND] if level < MAX_LEVELS else ()
    return replace(
        quote,
        author=clean_name(quote.author),
        text=shortened(_whole(quote.text)),
        files=tuple(map(clean_file_name, quote.files)),
        inside=tuple(_bounded(one, level + 1) for one in inside),
    )


def shortened(text: str) -> str:
    return plain_text.shortened(text, MAX_QUOTED)


def _whole(text: str) -> str:
    """The text with a mark where half a character was, which could not be stored."""
    return text.encode(errors="replace").decode()


def clean_name(name: str) -> str:
    """A name as one line of at most 64 visible characters; empty if none are left. What could look like a line of ours
    is none: of `Owner (user): yes` the sign of the role and the colon are gone.
    """
    visible = "".join(char for char in " ".join(name.split()) if char.isprintable())
    return _SPEAKS.sub(",", _ROLE.sub(r"\1", visible))[:MAX_NAME].strip(" ,")


def _tidied_file(file: Attachment) -> Attachment:
    media_type = file.media_type if _TYPE.fullmatch(file.media_type) else UNKNOWN_TYPE
    return replace(file, name=clean_file_name(file.name), media_type=media_type)


def says_something(event: Inbound) -> bool:
    return bool(event.text.strip() or event.attachments or event.around or event.command or event.act != "message")
