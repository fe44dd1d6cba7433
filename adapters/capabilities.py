"""The capabilities of a platform and their limits, as data with sources, and the length of a text in its units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Literal, TypeAlias

from msgspec import Struct

TextUnit = Literal["codepoints", "utf16"]

Measure = Callable[[str], int]


class CallWindow(Struct, frozen=True):
    """At most `calls` in any `seconds`."""

    calls: int
    seconds: float


class Budget(Struct, frozen=True):
    """A token bucket: `rate_per_s` tokens a second, at most `burst` at once. One call costs one token.

    `window` is an exact count that is kept besides, where the platform may count so.

    `shared` says that conversations which may live on different nodes draw from it (a limit of the whole workspace, a
    chat whose topics are conversations): then every node has its share only, by `gateway/cluster/bots.py`.
    """

    rate_per_s: float
    burst: float
    shared: bool = False
    window: CallWindow | None = None


Draws: TypeAlias = Sequence[tuple[str, Budget]]
"""The buckets of a call, by key with their sizes."""


class StreamLimits(Struct, frozen=True):
    """Native streams (`CanStream`): text is appended to a message until it is closed, by age at the latest.

    `append` is the budget of appending and `opening` that of opening and closing, each over `budget_key`'s scope.
    A text that is finished when it first appears and shorter than `worth_chars` is posted without a stream.
    """

    max_age_s: float
    max_text: int
    append: Budget
    opening: Budget
    worth_chars: int


class PreviewLimits(Struct, frozen=True):
    """Drafts (`CanPreview`) that disappear unless they are shown again within `keep_alive_s`."""

    keep_alive_s: float


class Capabilities(Struct, frozen=True):
    """Limits in the platform's own units; `source` says where each number is from.

    `private_budget` and `group_budget` count sends and edits of one conversation together; `total_budget` counts
    everything of one bot. `max_text` is counted in `text_unit` and leaves room for closing marks. `max_pieces` is how
    many pieces of formatting (emphasis, links, code) go into one message, besides a speaker's name. `threads` says that
    conversations can be opened beside others (`CanOpenThread`), at least in some places; one that people begin below a
    message has that message's id as `Address.thread`, up to an `@` (`thread_name`). What is zero, None
    or False is not there: no choices under a message, no files, no quoting of the message that is answered, no words
    beside the typing sign (`status_text`), no marks on people's messages, no room for free answers (`Choice.free`),
    no end of edits: `editable_for_s` is how old a message may be that still grows. An adapter whose platform has that
    end raises MessageGone for an older one, and the text goes on in a new message. `command_mark` is what people write
    before a command anywhere on the platform: texts name commands with it.
    """

    max_text: int
    text_unit: TextUnit
    edits: bool
    threads: bool
    idempotent_send: bool
    typing_lasts_s: float | None
    private_budget: Budget
    group_budget: Budget
    total_budget: Budget
    source: str
    deletes: bool = False
    quotes: bool = False
    reactions: bool = False
    status_text: bool = False
    max_pieces: float = inf
    max_choices: int = 0
    max_choice_label: int = 0
    free_answers: bool = False
    max_file_bytes: int = 0
    editable_for_s: float | None = None
    stream: StreamLimits | None = None
    preview: PreviewLimits | None = None
    command_mark: str = "/"


def measure_utf16(text: str) -> int:
    """Length in UTF-16 units: characters beyond the basic plane count twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def measure_codepoints(text: str) -> int:
    return len(text)


def measure_of(unit: TextUnit) -> Measure:
    return measure_utf16 if unit == "utf16" else measure_codepoints
