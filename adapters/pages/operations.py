"""The messages of one page: the calls that make and change them, and what each answer means.

A page is never lost: a post whose outcome is unclear is repeated, with the same nonce where the platform knows nonces;
elsewhere it is looked for first where that is possible (`CanRecover`), and where a second copy of the beginning may be
left all the same, `page.orphaned` says so. What was appended to a stream is never repeated: after an unclear answer the
message is gone on with by edits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NoReturn

from adapters.adapter import CanEdit
from adapters.pages.platform_context import AGED_FROM, PageFile, PagePart, PlatformContext
from runtime.core.errors import (
    AdapterError,
    AuthFailed,
    BadMarkup,
    MessageGone,
    NotDelivered,
    OutcomeUncertain,
    RateLimited,
    ShownDiffers,
    StreamOver,
)
from runtime.core.page import PageRecord, PageSpec
from runtime.events.talk import AdapterRateLimited, PageDiverged, PageOrphaned, PageRefused

KEEP_ALIVE_FROM = 0.75
"""A draft is shown again after this part of the time it lasts. Chosen: calls may be slow."""
SURPLUS = "\u2014"
"""The text of a message that a page no longer needs, where messages cannot be deleted."""
DIFFERS_MAX = 2
"""The number of differing answers after which a message stays as it is."""


class PageOperations:
    """`parts` are the page's messages by number; `diverged` once the platform showed something else than was said.

    `on_stands` is called when the platform has one more message, `on_wake` when the page has to be looked at without
    news of its text.
    """

    def __init__(self, stage: PlatformContext, spec: PageSpec, record: PageRecord) -> None:
        self.parts: dict[int, PagePart] = {}
        self.on_stands: Callable[[], None] = lambda: stage.begun(spec)
        self._stage = stage
        self._spec = spec
        self._record = record
        self.diverged = False
        self.streams = stage.streamer is not None
        self.previews = stage.previewer is not None and stage.previewer.previews(spec.address)
        self.file = PageFile(stage, spec)
        self.on_wake: Callable[[], None] = lambda: None
        self.draft: tuple[str, float] | None = None

    def know(self, parts: Mapping[int, str]) -> None:
        """Take over parts that are already on the platform: they are edited and never sent again."""
        for number, platform_id in parts.items():
            if self._claimed(number, platform_id):
                shown = None if self._stage.editor is not None else ("", True)
                self.parts[number] = PagePart(platform_id, shown, opened=True, posts=1)

    async def post(self, number: int, text: str, final: bool) -> None:
        part, spec, stage = await self._begin(number, text), self._spec, self._stage
        to, speaker, nonce, answered = spec.address, spec.speaker, self._nonce(number), stage.answered(spec, number)
        checked = final and part.differs < DIFFERS_MAX
        try:
            platform_id = await stage.adapter.send(
                to, text, speaker=speaker, nonce=nonce, final=checked, reply_to=answered
            )
        except OutcomeUncertain as error:
            self._doubt(number, error, searched=self._stage.recoverer is not None)
            raise
        except ShownDiffers as error:
            self._differs(number, error)
            part.doubtful = True
            return
        except AdapterError as error:
            self._refused(number, error)
        unsure = part.doubtful and self._stage.capabilities.idempotent_send
        shown = None if unsure and self._stage.editor is not None else (text, final)
        self._look_for_copy(number)
        await self._stands(number, platform_id, shown)

    async def grow(self, text: str, call: Callable[[], Awaitable[bool | None]]) -> bool | None:
        """Make a call that shows this much of an unfinished page."""
        await self._record.grows(text)
        return await call()

    def searches(self, number: int) -> bool:
        """Whether a post of this part may have landed and can be searched for."""
        part, recoverer, spec = self.parts.get(number), self._stage.recoverer, self._spec
        if part is None or not part.doubtful or recoverer is None:
            return False
        return recoverer.searches(spec.address, self._nonce(number), speaker=spec.speaker)

    async def recover(self, number: int, text: str) -> bool:
        """Search once for a part's post that may have landed; returns whether it was found and shows the text."""
        recoverer, spec = self._stage.recoverer, self._spec
        if recoverer is None:
            return False
        try:
            platform_id = await recoverer.recover(spec.address, text, speaker=spec.speaker, nonce=self._nonce(number))
        except OutcomeUncertain:
            raise
        except AdapterError as error:
            self._refused(number, error)
        if platform_id is None:
            return False
        self._look_for_copy(number)
        await self._stands(number, platform_id, (text, False))
        return True

    async def open_stream(self, number: int, text: str) -> None:
        """Start a part as a stream. If none is available, or the outcome is unclear, the part is posted instead."""
        streamer, limits, spec = self._stage.streamer, self._stage.stream_limits, self._spec
        part = await self._begin(number, text)
        if streamer is None or limits is None:
            return
        begun_at, answered = self._stage.clock.monotonic(), self._stage.answered(spec, number)
        try:
            platform_id = await streamer.open_stream(
                spec.address, text, speaker=spec.speaker, nonce=self._nonce(number), reply_to=answered
            )
        except OutcomeUncertain as error:
            part.refuses_streams = True
            self._doubt(number, error)
            raise
        except StreamOver:
            self.streams = False
            part.refuses_streams = part.doubtful = True
            raise
        except AdapterError as error:
            part.refuses_streams = isinstance(error, BadMarkup)
            self._refused(number, error)
        else:
            part.streaming = part.wide = True
            part.opened_at = begun_at
            self._wake_at(begun_at + AGED_FROM * limits.max_age_s)
            await self._stands(number, platform_id, (text, False))

    async def extend(self, number: int, text: str, *, last: bool) -> None:
        """Add to an open stream; the last piece ends it."""
        part, streamer = self.parts[number], self._stage.streamer
        if part.platform_id is None or streamer is None or part.shown is None:
            return
        call = streamer.close_stream if last else streamer.append
        confirmed = part.shown[0]
        try:
            await call(self._spec.address, part.platform_id, text, speaker=self._spec.speaker)
        except RateLimited as error:
            self._refused(number, error)
        except OutcomeUncertain:
            part.shown = (confirmed + text, False)
            part.leave_stream()
            raise
        except (StreamOver, BadMarkup) as error:
            part.leave_stream()
            part.plain = part.plain or isinstance(error, BadMarkup)
            raise
        except ShownDiffers as error:
            part.leave_stream()
            self._differs(number, error)
        except MessageGone:
            part.lose_message()
        except AdapterError as error:
            self._refused(number, error)
        else:
            part.shown, part.streaming = (confirmed + text, last), not last
            self._stage.landed(self._spec)

    async def edit(self, editor: CanEdit, number: int, text: str, final: bool) -> None:
        part, spec, nonce = self.parts[number], self._spec, self._nonce(number)
        if part.platform_id is None:
            return
        checked = final and part.differs < DIFFERS_MAX
        self._stage.remind(spec, number, part.platform_id)
        try:
            await editor.edit(spec.address, part.platform_id, text, speaker=spec.speaker, nonce=nonce, final=checked)
        except OutcomeUncertain:
            part.shown, part.unclear = (text, final), True
            raise
        except MessageGone:
            part.lose_message()
        except ShownDiffers as error:
            part.shown = None
            self._differs(number, error)
        except AdapterError as error:
            self._refused(number, error)
        else:
            part.shown, part.unclear = (text, final), False
            self._stage.landed(self._spec)

    async def offer(self, number: int, text: str) -> None:
        part, offerer, spec, nonce = self.parts[number], self._stage.offerer, self._spec, self._nonce(number)
        if part.platform_id is None or offerer is None:
            return
        self._stage.remind(spec, number, part.platform_id)
        try:
            await offerer.offer(spec.address, part.platform_id, text, spec.choices, speaker=spec.speaker, nonce=nonce)
        except MessageGone:
            part.lose_message()
        except ShownDiffers as error:
            self._differs(number, error)
            part.offered, part.shown = part.differs >= DIFFERS_MAX, part.shown if part.differs >= DIFFERS_MAX else None
        except AdapterError as error:
            if isinstance(error, BadMarkup):
                part.shown = None
            self._refused(number, error)
        else:
            part.offered = True

    async def delete(self, number: int) -> None:
        part, deleter = self.parts[number], self._stage.deleter
        if part.platform_id is None or deleter is None:
            return
        try:
            await deleter.delete(self._spec.address, part.platform_id, speaker=self._spec.speaker)
        except (RateLimited, OutcomeUncertain, AuthFailed):
            raise
        except AdapterError as error:
            self.diverges("left over", part=number, reason=str(error))
        part.gone = True

    async def preview(self, number: int, text: str) -> None:
        """Show the draft of a part; after a refusal this page has no drafts."""
        previewer, limits = self._stage.previewer, self._stage.capabilities.preview
        if previewer is None or limits is None:
            return
        try:
            await previewer.preview(self._spec.address, text, speaker=self._spec.speaker, nonce=self._nonce_of(number))
        except RateLimited as error:
            self._stage.tell(AdapterRateLimited(*self.place, number, error.retry_after_s))
            raise
        except (OutcomeUncertain, AuthFailed):
            raise
        except AdapterError as error:
            self.previews = False
            raise StreamOver(f"{error}. No drafts for this page") from error
        now = self._stage.clock.monotonic()
        self.draft = (text, now)
        self._wake_at(now + KEEP_ALIVE_FROM * limits.keep_alive_s)
        self._stage.landed(self._spec)

    def preview_due(self, text: str) -> bool:
        """Whether the draft shows another text or expires soon."""
        limits = self._stage.capabilities.preview
        if self.draft is None or limits is None or self.draft[0] != text:
            return True
        return self._stage.clock.monotonic() - self.draft[1] >= KEEP_ALIVE_FROM * limits.keep_alive_s

    async def upload(self, number: int, text: str) -> None:
        """Post the page's file. If it cannot be sent, the text says so."""
        uploader, file, spec = self._stage.uploader, await self.file.loaded(), self._spec
        if file is None or uploader is None:
            return
        part, answered = await self._begin(number, text), self._stage.answered(spec, number)
        try:
            platform_id = await uploader.upload(
                spec.address, file, text, speaker=spec.speaker, nonce=self._nonce(number), reply_to=answered
            )
        except OutcomeUncertain as error:
            self._doubt(number, error)
            raise
        except (NotDelivered, BadMarkup, ShownDiffers) as error:
            self._stage.tell(PageRefused(*self.place, number, str(error)))
            self.file.fail("out.file_refused")
        except AdapterError as error:
            self._refused(number, error)
        else:
            part.doubtful = False
            await self._stands(number, platform_id, (text, True))

    async def _begin(self, number: int, text: str) -> PagePart:
        part, doubter = self.parts.setdefault(number, PagePart()), self._stage.doubter
        if doubter is not None:
            doubter.unless(self._nonce(number), lambda: not self._stage.scheduler.may_show(self._spec.conversation))
        if not part.opened:
            if self._spec.stands and doubter is not None:
                doubter.doubt(self._nonce(number))
            await self._record.opening(number, text)
            part.opened = True
        return part

    async def _stands(self, number: int, platform_id: str, shown: tuple[str, bool] | None) -> None:
        """The platform has the part, under this id."""
        if not self._claimed(number, platform_id):
            self._stage.begun(self._spec)
            raise NotDelivered(f"page {self._spec.id}, part {number}: message {platform_id} is another page's")
        part = self.parts[number]
        part.platform_id, part.posts, part.doubtful, part.shown = platform_id, part.posts + 1, False, shown
        await self._record.sent(number, platform_id)
        self.on_stands()
        self._stage.landed(self._spec)

    def _claimed(self, number: int, platform_id: str) -> bool:
        if self._stage.claim(self._spec, platform_id):
            return True
        self.diverges(f"message {platform_id} belongs to another page", part=number)
        return False

    def _nonce(self, number: int) -> str:
        """A nonce that every repetition of a post shares; a new one when the message is gone and is posted again."""
        part = self.parts[number]
        posts = part.posts - (part.platform_id is not None)
        return self._nonce_of(number) if posts <= 0 else f"{self._nonce_of(number)}+{posts}"

    def _nonce_of(self, number: int) -> str:
        return f"{self._spec.id}.{number}"

    def _doubt(self, number: int, error: OutcomeUncertain, *, searched: bool = False) -> None:
        """A post may have landed. Where it is searched for (`searched`), a copy is discovered later."""
        self.parts[number].doubtful = True
        if not self._stage.capabilities.idempotent_send and not searched:
            self._stage.tell(PageOrphaned(*self.place, number, str(error)))

    def _look_for_copy(self, number: int) -> None:
        """Report a possible second copy of a part that is now on the platform."""
        recoverer, spec = self._stage.recoverer, self._spec
        if recoverer is None or not self.parts[number].doubtful:
            return
        if recoverer.left_copy(spec.address, self._nonce(number), speaker=spec.speaker):
            reason = "an earlier try may have landed, and was not found"
            self._stage.tell(PageOrphaned(*self.place, number, reason))

    def _differs(self, number: int, error: ShownDiffers) -> None:
        """Repeat once as plain text; after that the message stays as it is."""
        part = self.parts[number]
        part.differs += 1
        part.plain = True
        self.diverges("the platform shows another text or place", number, str(error))

    def _refused(self, number: int, error: AdapterError) -> NoReturn:
        """After refused markup, use plain text; report a final refusal. Always raises."""
        part = self.parts[number]
        if isinstance(error, RateLimited):
            self._stage.tell(AdapterRateLimited(*self.place, number, error.retry_after_s))
        elif isinstance(error, BadMarkup) and not part.plain:
            part.plain = True
        elif isinstance(error, BadMarkup | MessageGone | NotDelivered | StreamOver):
            self._give_up(number, error)
        raise error

    def _give_up(self, number: int, error: AdapterError) -> NoReturn:
        self._stage.tell(PageRefused(*self.place, number, str(error)))
        self._stage.begun(self._spec)
        raise NotDelivered(f"page {self._spec.id}, part {number}: {error}") from error

    def diverges(self, what: str, part: int | None = None, reason: str | None = None) -> None:
        self.diverged = True
        self._stage.tell(PageDiverged(*self.place, what, part, reason))

    @property
    def place(self) -> tuple[str, str]:
        return self._spec.id, self._spec.address.key

    def _wake_at(self, monotonic_s: float) -> None:
        self._stage.wake_at(monotonic_s, lambda: self.on_wake())
