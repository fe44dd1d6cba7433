"""The state of one page: its messages, and the meaning of the platform's answers for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from adapters.markdown.paging import Cut
from adapters.pages.part import Line, Part
from adapters.pages.platform_context import PlatformContext, Record
from runtime.core.errors import (
    AdapterError,
    BadMarkup,
    MessageGone,
    NotDelivered,
    OutcomeUncertain,
    RateLimited,
    ShownDiffers,
    StreamOver,
)

SURPLUS = "\u2014"
"""The text of a message that a page no longer needs, where messages cannot be deleted."""
DIFFERS_MAX = 2
"""After this many answers with another text a message stays as it is."""


class PageState:
    """`parts` are the page's messages by number. `on_stands` is called when the platform has one more of them."""

    def __init__(self, stage: PlatformContext, spec: Line, record: Record) -> None:
        self.parts: dict[int, Part] = {}
        self._stage = stage
        self._spec = spec
        self._record = record
        self._diverged = False
        self.on_stands: Callable[[], None] = lambda: stage.begun(spec)

    def know(self, parts: Mapping[int, str]) -> None:
        """These parts are on the platform already: they are edited and never sent anew."""
        for number, platform_id in parts.items():
            if self._claimed(number, platform_id):
                shown = None if self._stage.editor is not None else ("", True)
                self.parts[number] = Part(platform_id, shown, opened=True, posts=1)

    def check(self, cuts: Sequence[Cut], said: str) -> None:
        """The page's own books, once it is finished: the text shown is the text said, and nothing is left over."""
        if letters("".join(self._shown(number, cut) for number, cut in enumerate(cuts))) != letters(said):
            self._diverges("another text than was said")
        needed = len(cuts) + (self._spec.extras.file is not None)
        surplus = [part for number, part in self.parts.items() if number >= needed and part.platform_id is not None]
        if not all(part.gone or part.shown == (SURPLUS, True) for part in surplus):
            self._diverges("left over")
        if not self._diverged:
            self._tell("page.checked", parts=len(cuts), chars=len(said))

    def _shown(self, number: int, cut: Cut) -> str:
        part = self.parts.get(number)
        known = part is not None and not part.plain and part.shown is not None and part.posts > 0
        text = part.shown[0] if known and part is not None and part.shown is not None else cut.text
        return text[cut.head :] if text else cut.text[cut.head :]

    async def _begin(self, number: int, text: str) -> Part:
        part = self.parts.setdefault(number, Part())
        if not part.opened:
            await self._record.opening(number, text)
            part.opened = True
        return part

    async def _stands(self, number: int, platform_id: str, shown: tuple[str, bool] | None) -> None:
        """The platform has the part under this id."""
        if not self._claimed(number, platform_id):
            self._stage.begun(self._spec)
            raise NotDelivered(f"page {self._spec.id}, part {number}: message {platform_id} is another page's")
        part = self.parts[number]
        part.platform_id, part.posts, part.doubtful, part.shown = platform_id, part.posts + 1, False, shown
        await self._record.sent(number, platform_id, found_again=self._stage.capabilities.idempotent_send)
        self.on_stands()
        self._stage.landed(self._spec)

    def _claimed(self, number: int, platform_id: str) -> bool:
        if self._stage.claim(self._spec, platform_id):
            return True
        self._diverges(f"message {platform_id} belongs to another page", part=number)
        return False

    def _reply_to(self, number: int) -> str | None:
        return self._spec.extras.reply_to if number == 0 and self._stage.capabilities.quotes else None

    def _nonce(self, number: int) -> str:
        """The same for every repetition of a post; another when the message is gone and is posted again."""
        part = self.parts[number]
        posts = part.posts - (part.platform_id is not None)
        return self._nonce_of(number) if posts <= 0 else f"{self._nonce_of(number)}+{posts}"

    def _nonce_of(self, number: int) -> str:
        return f"{self._spec.id}.{number}"

    def _doubt(self, number: int, error: OutcomeUncertain, *, searched: bool = False) -> None:
        """A post may have landed; whether a copy stands is known later where it is looked for (`searched`)."""
        self.parts[number].doubtful = True
        if not self._stage.capabilities.idempotent_send and not searched:
            self._tell("page.orphaned", part=number, reason=str(error))

    def _look_for_copy(self, number: int) -> None:
        """The part stands; it may stand twice."""
        recoverer, spec = self._stage.recoverer, self._spec
        if recoverer is None or not self.parts[number].doubtful:
            return
        if recoverer.left_copy(spec.address, self._nonce(number), speaker=spec.speaker):
            self._tell("page.orphaned", part=number, reason="an earlier try may have landed, and was not found")

    def _differs(self, number: int, error: ShownDiffers) -> None:
        """Once more as plain text; then it stays as it is."""
        part = self.parts[number]
        part.differs += 1
        part.plain = True
        self._diverges("the platform shows another text or place", part=number, reason=str(error))

    def _refused(self, number: int, error: AdapterError) -> NoReturn:
        """Note that plain text must do after refused markup; report what is final. Raises in any case."""
        part = self.parts[number]
        if isinstance(error, RateLimited):
            self._tell("adapter.rate_limited", part=number, retry_after_s=error.retry_after_s)
        elif isinstance(error, BadMarkup) and not part.plain:
            part.plain = True
        elif isinstance(error, BadMarkup | MessageGone | NotDelivered | StreamOver):
            self._give_up(number, error)
        raise error

    def _give_up(self, number: int, error: AdapterError) -> NoReturn:
        self._tell("page.refused", part=number, reason=str(error))
        self._stage.begun(self._spec)
        raise NotDelivered(f"page {self._spec.id}, part {number}: {error}") from error

    def _diverges(self, what: str, **data: Any) -> None:
        self._diverged = True
        self._tell("page.diverged", cause=what, **data)

    def _tell(self, event: str, **data: Any) -> None:
        self._stage.tell(event, page_id=self._spec.id, conversation=self._spec.address.key, **data)


def letters(text: str) -> str:
    """What of a text is the same however it is formatted."""
    return "".join(filter(str.isalnum, text))
