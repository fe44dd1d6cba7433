"""The calls of one page, and what each answer means for its parts.

A page is never lost: a post whose outcome is unclear is repeated, with the same nonce where the platform knows nonces;
elsewhere it is looked for first where that is possible (`CanRecover`), and where a second copy of the beginning may be
left all the same, `page.orphaned` says so. What was appended to a stream is never repeated: after an unclear answer the
message is gone on with by edits.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from adapters.adapter import CanEdit, File
from adapters.markdown.paging import Cut
from adapters.pages.page_state import DIFFERS_MAX, PageState
from adapters.pages.part import Line
from adapters.pages.platform_context import PlatformContext, Record
from adapters.pages.stream_rules import AGED_FROM
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

KEEP_ALIVE_FROM = 0.75
"""A draft is shown again after this part of the time it lasts. Chosen: calls may be slow."""
BESIDE_FILE_CHARS = 900
"""The longest text that is posted beside its file, in characters; a caption takes 1024 units at least. Chosen."""


class PageOperations(PageState):
    """`on_wake` is called when the page has to be looked at without news of its text."""

    def __init__(self, stage: PlatformContext, spec: Line, record: Record) -> None:
        super().__init__(stage, spec, record)
        self.streams = stage.streamer is not None
        self.previews = stage.previewer is not None and stage.previewer.previews(spec.address)
        self.file_trouble: str | None = None
        self.on_wake: Callable[[], None] = _nobody
        self._draft: tuple[str, float] | None = None

    async def post(self, number: int, text: str, final: bool) -> None:
        """Send a part for the first time."""
        part = await self._begin(number, text)
        checked = final and part.differs < DIFFERS_MAX
        try:
            platform_id = await self._stage.adapter.send(
                self._spec.address,
                text,
                speaker=self._spec.speaker,
                nonce=self._nonce(number),
                final=checked,
                reply_to=self._reply_to(number),
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
        """Make a call that shows so much of a page that is not finished."""
        await self._record.grows(text)
        return await call()

    def searches(self, number: int) -> bool:
        """Whether a post of this part may have landed and can be looked for."""
        part, recoverer, spec = self.parts.get(number), self._stage.recoverer, self._spec
        if part is None or not part.doubtful or recoverer is None:
            return False
        return recoverer.searches(spec.address, self._nonce(number), speaker=spec.speaker)

    async def recover(self, number: int, text: str) -> bool:
        """Try once to find the post of a part that may have landed; whether it was found and shows the text."""
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
        """Begin a part as a stream; when none is to be had, or nobody knows, it is posted instead."""
        streamer = self._stage.streamer
        limits = self._stage.stream_limits
        part = await self._begin(number, text)
        if streamer is None or limits is None:
            return
        begun_at = self._stage.clock.monotonic()
        try:
            platform_id = await streamer.open_stream(
                self._spec.address,
                text,
                speaker=self._spec.speaker,
                nonce=self._nonce(number),
                reply_to=self._reply_to(number),
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

    async def append(self, number: int, text: str) -> None:
        """Add to an open stream."""
        await self._extend(number, text, last=False)

    async def close_stream(self, number: int, text: str) -> None:
        """Add the last piece to an open stream and end it."""
        await self._extend(number, text, last=True)

    async def edit(self, editor: CanEdit, number: int, text: str, final: bool) -> None:
        """Replace the text of a part."""
        part = self.parts[number]
        if part.platform_id is None:
            return
        checked = final and part.differs < DIFFERS_MAX
        try:
            await editor.edit(
                self._spec.address,
                part.platform_id,
                text,
                speaker=self._spec.speaker,
                nonce=self._nonce(number),
                final=checked,
            )
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
        """Show the choices under a finished part."""
        part, offerer = self.parts[number], self._stage.offerer
        if part.platform_id is None or offerer is None:
            return
        try:
            await offerer.offer(
                self._spec.address,
                part.platform_id,
                text,
                self._spec.extras.choices,
                speaker=self._spec.speaker,
                nonce=self._nonce(number),
            )
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
        """Take away a part that is not needed."""
        part, deleter = self.parts[number], self._stage.deleter
        if part.platform_id is None or deleter is None:
            return
        try:
            await deleter.delete(self._spec.address, part.platform_id, speaker=self._spec.speaker)
        except (RateLimited, OutcomeUncertain, AuthFailed):
            raise
        except AdapterError as error:
            self._diverges("left over", part=number, reason=str(error))
        part.gone = True

    async def preview(self, number: int, text: str) -> None:
        """Show the draft of a part; where drafts are refused there are none for this page."""
        previewer, limits = self._stage.previewer, self._stage.capabilities.preview
        if previewer is None or limits is None:
            return
        try:
            await previewer.preview(self._spec.address, text, speaker=self._spec.speaker, nonce=self._nonce_of(number))
        except RateLimited as error:
            self._tell("adapter.rate_limited", part=number, retry_after_s=error.retry_after_s)
            raise
        except (OutcomeUncertain, AuthFailed):
            raise
        except AdapterError as error:
            self.previews = False
            raise StreamOver(f"{error}. No drafts for this page") from error
        now = self._stage.clock.monotonic()
        self._draft = (text, now)
        self._wake_at(now + KEEP_ALIVE_FROM * limits.keep_alive_s)
        self._stage.landed(self._spec)

    def preview_due(self, text: str) -> bool:
        """Whether the draft shows another text, or will vanish soon."""
        limits = self._stage.capabilities.preview
        if self._draft is None or limits is None or self._draft[0] != text:
            return True
        return self._stage.clock.monotonic() - self._draft[1] >= KEEP_ALIVE_FROM * limits.keep_alive_s

    def fits_beside(self, cuts: Sequence[Cut]) -> bool:
        """Whether the whole text stands beside the file."""
        return len(cuts) <= 1 and sum(len(cut.text) for cut in cuts) <= BESIDE_FILE_CHARS

    async def upload(self, number: int, text: str) -> None:
        """Post the page's file. What cannot be sent is named in the text instead."""
        uploader, file = self._stage.uploader, await self._loaded()
        if file is None or uploader is None:
            return
        part = await self._begin(number, text)
        try:
            platform_id = await uploader.upload(
                self._spec.address,
                file,
                text,
                speaker=self._spec.speaker,
                nonce=self._nonce(number),
                reply_to=self._reply_to(number),
            )
        except OutcomeUncertain as error:
            self._doubt(number, error)
            raise
        except (NotDelivered, BadMarkup, ShownDiffers) as error:
            self._tell("page.refused", part=number, reason=str(error))
            self._fail_file("out.file_refused")
        except AdapterError as error:
            self._refused(number, error)
        else:
            part.doubtful = False
            await self._stands(number, platform_id, (text, True))

    async def _extend(self, number: int, text: str, *, last: bool) -> None:
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

    async def _loaded(self) -> File | None:
        """The page's file, or None once it is said why there is none."""
        wanted, most = self._spec.extras.file, self._stage.capabilities.max_file_bytes
        if wanted is None:
            return None
        trouble, file = "out.file_too_large", None
        if self._stage.uploader is None or self._stage.file_source.load is None:
            trouble = "out.file_impossible"
        elif wanted.size_bytes is None or wanted.size_bytes <= most:
            try:
                file = await self._stage.file_source.load(wanted)
            except NotDelivered:
                trouble = "out.file_lost"
        if file is None or len(file.data) > most:
            self._fail_file(trouble)
            return None
        return file

    def _fail_file(self, key: str) -> None:
        file = self._spec.extras.file
        name = "" if file is None else file.name
        megabytes = self._stage.capabilities.max_file_bytes // 1_000_000
        self.file_trouble = self._stage.file_source.texts(key, name=name, megabytes=megabytes)

    def _wake_at(self, monotonic_s: float) -> None:
        self._stage.wake_at(monotonic_s, lambda: self.on_wake())


def _nobody() -> None:
    """Nobody is there to be woken."""
