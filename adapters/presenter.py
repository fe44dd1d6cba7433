"""Shows pages on a platform: one message that grows by edits, more messages when the text is long, or one final post.

What people see of a part is always well-formed Markdown. A page is never lost: a first send whose outcome is unclear is
repeated, with the same nonce where the platform knows nonces; elsewhere the repetition may leave a second copy of the
beginning, which is reported as `page.orphaned`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import anyio
from anyio.abc import TaskGroup

from adapters.adapter import Adapter, CanEdit, CanShowTyping
from adapters.edit_scheduler import EditScheduler
from adapters.live_text import Frame
from adapters.markdown import close_open, measure_codepoints, measure_utf16, plain
from adapters.pacing import TYPING_EARLY_S
from adapters.paging import Cut, cut_pages
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, BadMarkup, MessageGone, NotDelivered, OutcomeUncertain, RateLimited

SURPLUS = "\u2014"
"""What a message becomes that a page no longer needs, because its text turned out shorter than what was shown."""


class Record(Protocol):
    """Keeps what became visible. Each call returns when it is durable; what it raises ends the page."""

    async def opening(self, part: int, text: str, /) -> None: ...
    async def sent(self, part: int, platform_id: str, /) -> None: ...


class OnEvent(Protocol):
    """Hears page.orphaned, page.refused and adapter.rate_limited: what only the way to the platform knows."""

    def __call__(self, name: str, /, **data: Any) -> None: ...


def _unheard(_name: str, /, **_data: Any) -> None:
    """Nobody listens."""


@dataclass(slots=True)
class _Part:
    """One platform message. `shown` is its text and whether that was final; None when it is not known."""

    platform_id: str | None = None
    shown: tuple[str, bool] | None = None
    opened: bool = False
    doubtful: bool = False
    plain: bool = False
    posts: int = 0


class Presenter:
    """All pages of one platform. Pages of a conversation get their first message in the order of their opening."""

    def __init__(
        self, adapter: Adapter, scheduler: EditScheduler, clock: Clock, *, on_event: OnEvent = _unheard
    ) -> None:
        self.adapter = adapter
        self.scheduler = scheduler
        self.clock = clock
        self.tell = on_event
        self._lines: dict[str, deque[Page]] = {}

    @property
    def editor(self) -> CanEdit | None:
        """The adapter, if messages can be changed."""
        adapter = self.adapter
        return adapter if self.adapter.capabilities.edits and isinstance(adapter, CanEdit) else None

    def page(self, page_id: str, address: Address, speaker: Speaker, parts: Mapping[int, str], record: Record) -> Page:
        """A page. `parts` are on the platform already: they are edited and never sent anew."""
        line = self._lines.setdefault(address.key, deque())
        page = Page(self, _Spec(page_id, address, speaker), parts, record, held=bool(line) and 0 not in parts)
        if 0 not in parts:
            line.append(page)
        elif not line:
            del self._lines[address.key]
        return page

    def begun(self, page: Page) -> None:
        """The page has its first message or needs none: the next page of the conversation may begin."""
        line = self._lines.get(page.spec.address.key)
        if line is None or page not in line:
            return
        was_head = line[0] is page
        line.remove(page)
        if not line:
            del self._lines[page.spec.address.key]
        elif was_head:
            line[0].release()


@dataclass(frozen=True, slots=True)
class _Spec:
    id: str
    address: Address
    speaker: Speaker


class Page:
    """One utterance on its way to people's eyes."""

    def __init__(
        self, presenter: Presenter, spec: _Spec, parts: Mapping[int, str], record: Record, *, held: bool
    ) -> None:
        self.spec = spec
        self._presenter = presenter
        self._record = record
        self._text = ""
        self._parts = {number: _Part(platform_id, opened=True, posts=1) for number, platform_id in parts.items()}
        if presenter.editor is None:
            for number in parts:
                self._parts[number].shown = ("", True)
        key, budget = presenter.adapter.budget(spec.address)
        self._live = presenter.scheduler.open(key, budget, self, held=held)

    def update(self, text: str) -> None:
        """The whole text so far; the newest wins, never blocks."""
        self._text = text
        if self._presenter.editor is not None:
            self._live.said(len(text))

    async def finish(self, text: str) -> bool:
        """Return True when the platform shows exactly `text` in its final form; waits out every cool-down.

        False when the platform refused the page for good (`page.refused` says why). Raises AuthFailed, and what the
        record raises.
        """
        self._text = text
        try:
            return await self._live.finish(len(text))
        finally:
            if self._live.over:
                self._presenter.begun(self)

    def abandon(self) -> None:
        """Stop showing anything more of this page; what is visible stays."""
        self._live.close(delivered=False)
        self._presenter.begun(self)

    def release(self) -> None:
        """It is this page's turn to begin."""
        self._live.release()

    def frame(self, final: bool) -> Frame | None:
        """See `FrameSource`: the first part that does not look as it should."""
        cuts = self._cuts()
        for number, cut in enumerate(cuts):
            done = final or number < len(cuts) - 1
            frame = self._frame_of(number, cut.text if done else close_open(cut.text), done, cut.end)
            if frame is not None:
                return frame
        surplus = [number for number in sorted(self._parts) if number >= len(cuts)] if final else []
        frames = (self._frame_of(number, SURPLUS, True, len(self._text)) for number in surplus)
        return next((frame for frame in frames if frame is not None), None)

    def _cuts(self) -> list[Cut]:
        limits = self._presenter.adapter.capabilities
        measure = measure_utf16 if limits.text_unit == "utf16" else measure_codepoints
        return cut_pages(self._text, limits.max_text, measure) if self._text.strip() else []

    def _frame_of(self, number: int, text: str, final: bool, covers: int) -> Frame | None:
        part = self._parts.get(number) or _Part()
        wanted = plain(text) if part.plain else text
        if not wanted.strip() or part.shown == (wanted, final):
            return None
        if part.platform_id is None:
            known = self._presenter.adapter.capabilities.idempotent_send
            return Frame(covers, partial(self._post, number, wanted, final), idempotent=known)
        if self._presenter.editor is None:
            return None
        return Frame(covers, partial(self._edit, self._presenter.editor, number, wanted, final))

    async def _post(self, number: int, text: str, final: bool) -> None:
        part = self._parts.setdefault(number, _Part())
        if not part.opened:
            await self._record.opening(number, text)
            part.opened = True
        try:
            platform_id = await self._presenter.adapter.send(
                self.spec.address, text, speaker=self.spec.speaker, nonce=self._nonce(number), final=final
            )
        except OutcomeUncertain as error:
            part.doubtful = True
            if not self._presenter.adapter.capabilities.idempotent_send:
                self._tell("page.orphaned", part=number, reason=str(error))
            raise
        except AdapterError as error:
            self._refused(number, error)
            return
        unsure = part.doubtful and self._presenter.adapter.capabilities.idempotent_send
        part.platform_id, part.posts, part.doubtful = platform_id, part.posts + 1, False
        part.shown = None if unsure and self._presenter.editor is not None else (text, final)
        await self._record.sent(number, platform_id)
        if number == 0:
            self._presenter.begun(self)

    async def _edit(self, editor: CanEdit, number: int, text: str, final: bool) -> None:
        part = self._parts[number]
        if part.platform_id is None:
            return
        try:
            await editor.edit(
                self.spec.address,
                part.platform_id,
                text,
                speaker=self.spec.speaker,
                nonce=self._nonce(number),
                final=final,
            )
        except OutcomeUncertain:
            part.shown = None
            raise
        except MessageGone:
            part.platform_id = part.shown = None
        except AdapterError as error:
            self._refused(number, error)
        else:
            part.shown = (text, final)

    def _nonce(self, number: int) -> str:
        """The same for every repetition of a post; another when the message is gone and is posted again."""
        part = self._parts[number]
        posts = part.posts - (part.platform_id is not None)
        return f"{self.spec.id}.{number}" if posts <= 0 else f"{self.spec.id}.{number}+{posts}"

    def _refused(self, number: int, error: AdapterError) -> None:
        """Try plain text after refused markup; report and pass on everything else."""
        part = self._parts[number]
        if isinstance(error, RateLimited):
            self._tell("adapter.rate_limited", part=number, retry_after_s=error.retry_after_s)
        elif isinstance(error, BadMarkup) and not part.plain:
            part.plain = True
            return
        elif isinstance(error, BadMarkup | MessageGone | NotDelivered):
            self._tell("page.refused", part=number, reason=str(error))
            self._presenter.begun(self)
            raise NotDelivered(f"page {self.spec.id}, part {number}: {error}") from error
        raise error

    def _tell(self, event: str, **data: Any) -> None:
        self._presenter.tell(event, page=self.spec.id, conversation=self.spec.address.key, **data)


class Typing:
    """Keeps the typing sign up while somebody works on an answer. Draws from the conversation's bucket, after text."""

    def __init__(self, adapter: Adapter, scheduler: EditScheduler, clock: Clock, tasks: TaskGroup) -> None:
        self._adapter = adapter
        self._scheduler = scheduler
        self._clock = clock
        self._tasks = tasks
        self._active: dict[tuple[str, str], anyio.CancelScope] = {}
        self._doing: dict[tuple[str, str], str | None] = {}

    def set(self, address: Address, speaker: Speaker, active: bool, /, *, doing: str | None = None) -> None:
        """The speaker works on an answer (typing sign), or has stopped; `doing` says on what. Never blocks."""
        who = (address.key, speaker.id)
        self._doing[who] = doing
        if not active:
            scope = self._active.pop(who, None)
            self._doing.pop(who)
            if scope is not None:
                scope.cancel()
        elif who not in self._active and self._adapter.capabilities.typing_lasts_s is not None:
            scope = self._active[who] = anyio.CancelScope()
            self._tasks.start_soon(self._repeat, address, speaker, scope)

    async def _repeat(self, address: Address, speaker: Speaker, scope: anyio.CancelScope) -> None:
        adapter = self._adapter
        lasts_s = adapter.capabilities.typing_lasts_s
        if not isinstance(adapter, CanShowTyping) or lasts_s is None:
            return
        key, budget = adapter.budget(address)
        with scope:
            while True:
                with suppress(AdapterError):  # nobody misses a sign, and the bucket has taken note
                    doing = self._doing.get((address.key, speaker.id))
                    await self._scheduler.spare(key, budget, partial(adapter.typing, address, speaker, doing=doing))
                await self._clock.sleep_until(self._clock.monotonic() + max(1.0, lasts_s - TYPING_EARLY_S))
