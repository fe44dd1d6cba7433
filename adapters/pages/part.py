"""One platform message of a page: its state, what a stream may take, and choices. A stream cannot take text back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.capabilities import Capabilities, Measure, StreamLimits
from adapters.markdown.paging import PageCut
from runtime.core.message import Choice

AGED_FROM = 0.8
"""The part of its lifetime after which a stream is closed and a new one started. Chosen: calls may be slow."""
TORN_FROM = 0.7
"""The part of a page's limit from which its last word may still move to the next page (`paging.TORN_MAX`)."""


@dataclass(slots=True)
class PagePart:
    """One platform message.

    `shown` is its text and whether that was final; None when it is not known. `unclear`: the call that showed
    it may not have landed. `opened`: its beginning was recorded.
    `doubtful`: a post may or may not have landed. `plain`: formatting is refused. `posts` counts messages it had.
    `differs` counts answers that showed something else. `streaming`: a native stream is open, and `shown` is exactly
    what was appended; `opened_at` is when it began (`Clock.monotonic`). `wide`: it holds as much as a stream does.
    `ends_at` is where in the page's text it ends because its stream was over. `refuses_streams`: it is shown by posts
    and edits. `gone`: it was taken away as not needed. `offered`: the choices stand under it.
    """

    platform_id: str | None = None
    shown: tuple[str, bool] | None = None
    unclear: bool = False
    opened: bool = False
    doubtful: bool = False
    plain: bool = False
    posts: int = 0
    differs: int = 0
    streaming: bool = False
    opened_at: float = 0.0
    wide: bool = False
    ends_at: int | None = None
    refuses_streams: bool = False
    gone: bool = False
    offered: bool = False

    def leave_stream(self) -> None:
        """Continue by edits, which hold less; what was appended last may be visible."""
        self.streaming = self.wide = False
        self.ends_at = None
        self.refuses_streams = self.unclear = True

    def lose_message(self) -> None:
        """The message no longer exists: it has to be posted again."""
        self.platform_id = self.shown = None
        self.streaming = self.wide = self.offered = False


def is_aged(limits: StreamLimits, age_s: float) -> bool:
    """Whether a stream of this age must be replaced by another."""
    return age_s >= AGED_FROM * limits.max_age_s


def steady(cut: PageCut, limit: int, measure: Measure) -> str:
    """The part of a growing page that stays on it whatever follows."""
    text = cut.text.rstrip()
    if measure(text) < TORN_FROM * limit:
        return text
    ends = cut.text.rfind("\n") if cut.fenced else max(cut.text.rfind(gap) for gap in " \n")
    return cut.text[: max(0, ends)].rstrip()


def ends_at(text: str, shown: int) -> int:
    """The end of a stream that shows the first `shown` characters: the end of a paragraph, a line or a word."""
    if shown >= len(text) or text[:shown].endswith("\n"):
        return min(shown, len(text))
    for gap in ("\n\n", "\n", " "):
        found = text.find(gap, shown)
        if found >= 0:
            return found + len(gap)
    return len(text)


def shown(choices: Sequence[Choice], capabilities: Capabilities) -> tuple[Choice, ...]:
    """The choices that the platform shows at all: without free answers where it has no form for them."""
    return tuple(choice for choice in choices if capabilities.free_answers or not choice.free)


def fit(choices: Sequence[Choice], capabilities: Capabilities) -> bool:
    """Whether the platform can show all of these under a message, each in full."""
    few = len(choices) <= capabilities.max_choices
    return few and all(len(choice.label) <= capabilities.max_choice_label for choice in choices)


def listed(text: str, choices: Sequence[Choice]) -> str:
    lines = [f"{number}. {' '.join(choice.label.split())}" for number, choice in enumerate(choices, 1)]
    return "\n\n".join(piece for piece in (text.rstrip(), "\n".join(lines)) if piece)
