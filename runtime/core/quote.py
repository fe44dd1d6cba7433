"""What a message brings with it: messages that it answers, forwards or shares, cards of other programs, and what was
said before it in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

QuoteKind = Literal["answered", "forwarded", "shared", "card", "said", "bot"]
"""How a message is there: answered, passed on from elsewhere, shared with a link, shown as a card; or said before, by a
person or by a bot."""

MAX_QUOTED: Final = 4_000
"""The length to which one quoted text is kept."""

MAX_AROUND: Final = 10
"""The most messages and cards that one message brings, and that each of these brings."""

MAX_LEVELS: Final = 2
"""How deep quotes inside of quotes are kept."""


class Quote(Struct, frozen=True):
    """A message that another one brings, perhaps shortened: the platform's id, the author's name and the text.

    `files` are the names of its files; they come with those of the message that brings it. `inside` is what it brings
    itself. `said_at` is UTC, where it is told. `person` is the id of its author, "" for none that is known.
    """

    message_id: str
    author: str
    text: str
    kind: QuoteKind = "answered"
    files: tuple[str, ...] = ()
    inside: tuple[Quote, ...] = ()
    said_at: datetime | None = None
    person: str = ""


def quote_to_data(quote: Quote) -> list[Any]:
    more: dict[str, Any] = {}
    if quote.kind != "answered":
        more["kind"] = quote.kind
    if quote.files:
        more["files"] = list(quote.files)
    if quote.inside:
        more["inside"] = quotes_to_data(quote.inside)
    if quote.said_at is not None:
        more["at"] = quote.said_at.isoformat()
    if quote.person:
        more["person"] = quote.person
    return [quote.message_id, quote.author, quote.text, *([more] if more else [])]


def quote_from_data(data: Sequence[Any]) -> Quote:
    more: Mapping[str, Any] = data[3] if len(data) > 3 else {}
    at = more.get("at")
    return Quote(
        data[0],
        data[1],
        data[2],
        kind=more.get("kind", "answered"),
        files=tuple(more.get("files", ())),
        inside=quotes_from_data(more.get("inside")),
        said_at=None if at is None else datetime.fromisoformat(at),
        person=more.get("person", ""),
    )


def quotes_to_data(quotes: Sequence[Quote]) -> list[list[Any]]:
    return [quote_to_data(quote) for quote in quotes]


def quotes_from_data(data: Sequence[Sequence[Any]] | None) -> tuple[Quote, ...]:
    return tuple(map(quote_from_data, data or ()))


def without_author(quotes: Sequence[Quote], person: str, names: Collection[str]) -> tuple[Quote, ...]:
    kept = (quote for quote in quotes if quote.person != person and quote.author not in names)
    return tuple(replace(quote, inside=without_author(quote.inside, person, names)) for quote in kept)


def all_quotes(first: Quote | None, others: Sequence[Quote]) -> Iterator[Quote]:
    for quote in (*([] if first is None else [first]), *others):
        yield quote
        yield from all_quotes(None, quote.inside)
