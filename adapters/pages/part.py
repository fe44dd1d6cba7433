"""The state of one platform message of a page, and the attributes of a page besides its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.core.address import Address, Speaker
from runtime.core.message import Attachment, Choice


@dataclass(frozen=True, slots=True)
class Extras:
    """The attributes of a page besides its text: see the fields of the same names of
    `runtime.channels.outbox.PageSpec`.
    """

    reply_to: str | None = None
    people: Mapping[str, str] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    file: Attachment | None = None
    leased: bool = False
    home: Address | None = None
    stands: str = ""


NO_EXTRAS = Extras()


@dataclass(frozen=True, slots=True)
class Line:
    """The id, place and speaker of a page."""

    id: str
    address: Address
    speaker: Speaker
    extras: Extras = NO_EXTRAS

    @property
    def conversation(self) -> str | None:
        """The key of the conversation whose session speaks; None for texts without a session."""
        return (self.extras.home or self.address).key if self.extras.leased else None


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
