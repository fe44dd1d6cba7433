"""What decoding has in common on all platforms: thumbs as ratings, lines for what nobody can read, forms of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

from msgspec.structs import replace

from runtime.core.message import Attachment, Rating
from runtime.core.quote import all_quotes

UP: Final = "\N{THUMBS UP SIGN}"
DOWN: Final = "\N{THUMBS DOWN SIGN}"

_NAMES: Final = {"+1": UP, "thumbsup": UP, "-1": DOWN, "thumbsdown": DOWN}

UNREAD: Final = "[a message that bots cannot read]"
GONE: Final = "[a message that is no longer there]"
"""The line for what is answered and was deleted."""
_IDS: Final = ("message_id", "command", "space", "language", "program", "choice")
"""The fields that are None where there is nothing."""


def rating_of_all(marks: Iterable[str]) -> Rating:
    """The rating by all the marks that a person has on a message now. A thumb up goes before one down."""
    thumbs = {_thumb(mark) for mark in marks}
    return "up" if "up" in thumbs else "down" if "down" in thumbs else "none"


def rating_of_one(mark: str, *, there: bool) -> Rating | None:
    """The rating by one mark that a person has put on a message, or taken away; None for other marks."""
    thumb = _thumb(mark)
    if thumb is None or there:
        return thumb
    return "not_up" if thumb == "up" else "not_down"


def _thumb(mark: str) -> Literal["up", "down"] | None:
    """A thumb of any colour, as an emoji or by one of its names between colons."""
    name = mark.strip(":").partition("::")[0]
    emoji = _NAMES.get(name, mark)
    return "up" if emoji.startswith(UP) else "down" if emoji.startswith(DOWN) else None


def files_answered(files: Iterable[Attachment], *, ours: bool) -> tuple[Attachment, ...]:
    """The files of what a message answers; of our own, which speak, no recordings."""
    return tuple(replace(file, quoted=True) for file in files if not (ours and file.media_type.startswith("audio/")))


def check_forms(event: Any) -> None:
    """Raise TypeError where a field of an `Inbound` is no text, ValueError for half a character in an id."""
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
