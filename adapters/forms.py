"""The form of people's events: what a platform sends in another form is refused where an event is made of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from runtime.core.quote import all_quotes

_IDS: Final = ("message_id", "command", "space", "language", "program", "choice")
"""The fields that are None where there is nothing."""


def check_forms(event: Any) -> None:
    """Check an `Inbound`. Raises TypeError for a field with something other than a text, and ValueError for half a
    character in an id.
    """
    for text in (*_words(event), *_ids(event)):
        if not isinstance(text, str):
            raise TypeError(f"{str(text)[:40]} is no text")
    for file in event.attachments:
        if isinstance(file.size_bytes, bool) or not isinstance(file.size_bytes, int | None):
            raise TypeError(f"{str(file.size_bytes)[:40]} is no size")
    "".join(_ids(event)).encode()


def _words(event: Any) -> Iterator[str]:
    yield from (event.person_name, event.text, event.looking_at)
    for file in event.attachments:
        yield from (file.name, file.media_type)
    for quote in all_quotes(event.quote, event.around):
        yield from (quote.author, quote.text, *quote.files)


def _ids(event: Any) -> Iterator[str]:
    yield from (event.event_id, event.person_id, event.address.conversation)
    yield "" if event.address.thread is None else event.address.thread
    yield from (value for name in _IDS if (value := getattr(event, name)) is not None)
    yield from (file.url for file in event.attachments)
    for quote in all_quotes(event.quote, event.around):
        yield from (quote.message_id, quote.person)
