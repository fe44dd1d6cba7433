"""One page on its way to people: it knows which call brings them closest to its text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from adapters.adapter import Call, CanEdit
from adapters.capabilities import measure_of
from adapters.markdown.closing import close_open
from adapters.markdown.mentions import with_mentions
from adapters.markdown.paging import PageCut, PageRoom, cut_pages
from adapters.markdown.writer import plain
from adapters.pacing.live_text import LiveCall
from adapters.pages.operations import SURPLUS, PageOperations
from adapters.pages.platform_context import PagePart, PlatformContext, ends_at, fit, is_aged, listed, steady
from runtime.core.page import PageRecord, PageSpec
from runtime.events.talk import PageChecked


class Page:
    """One utterance. Its parts are messages of the platform, posted and changed by `PageOperations`."""

    def __init__(self, stage: PlatformContext, spec: PageSpec, record: PageRecord, *, held: bool) -> None:
        self.spec = spec
        self.conversation = spec.conversation
        self._stage = stage
        self._text = ""
        self._stands = spec.stands
        self._calls = PageOperations(stage, spec, record)
        self._parts = self._calls.parts
        self._calls.know(spec.parts)
        self._measure = measure_of(stage.capabilities.text_unit)
        self._offers = bool(spec.choices) and stage.offerer is not None and fit(spec.choices, stage.capabilities)
        self._ends = False
        self._cut: dict[bool, tuple[tuple[str, int, Mapping[int, PageRoom]], list[PageCut]]] = {}
        self._mentioned: dict[bool, tuple[str, str | None, str]] = {}
        """The last text that grew and the last final one, with parts and mentions: making them anew takes long."""
        self._live = stage.scheduler.open(*stage.adapter.budget(spec.address), self, held=held)
        self._calls.on_wake = self._woken
        self._calls.on_stands = self._stood

    @property
    def over(self) -> bool:
        return self._live.over

    def update(self, text: str) -> None:
        """Set the whole text so far. The newest text wins; never blocks."""
        if len(text) < len(self._text) and not self._comes_again():
            self._stands = self._text
        self._text = text
        grows = self._stage.editor is not None or self._calls.previews
        if grows and self.spec.file is None:
            self._live.said(len(text))

    def ends(self) -> None:
        """The last text comes soon: pages that are opened from now on wait until this one is complete."""
        self._ends = True
        if not self._live.over:
            self._stage.go_first(self)

    async def finish(self, text: str) -> bool:
        """Return True when the platform shows exactly `text` in its final form; waits out every cool-down.

        False when the platform refused the page for good (`page.refused` says why). Raises AuthFailed, and what the
        record raises.
        """
        if self._parts and not self._text and self._stage.streamer is not None:
            self._stands = text  # an earlier process may have ended a stream, which shows all of it
        self._text = text
        self.ends()
        if not self._lacks_messages():
            self._stage.begun(self.spec)
        try:
            delivered = await self._live.finish(len(text))
        finally:
            if self._live.over:
                self._stage.begun(self.spec)
        if delivered:
            self._check(self._cuts(final=True), self._said(final=True))
        return delivered

    async def rest(self) -> None:
        """Make no more calls. Returns when one on its way was answered and recorded."""
        await self._live.rest()

    def abandon(self) -> None:
        """Stop showing this page; visible text stays."""
        self._live.close(delivered=False)
        self._stage.begun(self.spec)

    def release(self) -> None:
        self._live.release()

    def frame(self, final: bool) -> LiveCall | None:
        """See `FrameSource`: the first part with text that people lack, else the first that is not in its final form.

        Visible text is not removed to be shown again: it stays while the text may still become it.
        """
        if final:
            return self._frame(final=True)
        if self.spec.file is not None or (self._parts and self._comes_again()):
            return None
        frame = self._frame(final=False)
        if frame is None:
            return None
        return replace(frame, call=partial(self._calls.grow, self._text[: frame.covers], frame.call))

    def _comes_again(self) -> bool:
        """Whether the text is a prefix of what is already visible."""
        return len(self._text) < len(self._stands) and self._stands.startswith(self._text)

    def _frame(self, *, final: bool) -> LiveCall | None:
        cuts = self._cuts(final=final)
        if final and self._calls.file.number(cuts) == 0:
            return self._upload(0, cuts[0].text if cuts else "")
        later: LiveCall | None = None
        for number, cut in enumerate(cuts):
            frame = self._part_frame(number, cut, final or number < len(cuts) - 1 or self._is_ended(number, cut))
            if frame is not None and not self._is_seen(number, cut):
                return frame
            if frame is not None:
                later = later or replace(frame, covers=self._covers(cuts[-1]))
        return later or (self._after_text(cuts) if final else None)

    def _is_seen(self, number: int, cut: PageCut) -> bool:
        """Whether people see a part's words, as far as known; also with words of the next one, until that is posted."""
        part, after = self._parts.get(number), self._parts.get(number + 1)
        if part is None or part.platform_id is None or part.streaming:
            return False
        is_last = after is None or after.platform_id is None
        if part.shown is None:  # an earlier process has shown it
            return is_last and self._covers(cut) <= len(self._stands) and self._text.startswith(self._stands)
        shown, wanted = _letters(part.shown[0]), _letters(cut.text)
        return shown == wanted or (shown.startswith(wanted) and is_last)

    def _lacks_messages(self) -> bool:
        """Whether a message of the whole text is not posted yet, or may be missing after a stream."""
        if any(part.streaming for part in self._parts.values()):
            return True
        cuts = self._cuts(final=True)
        needed = len(cuts) + (self._calls.file.number(cuts) == len(cuts))
        return any(number not in self._parts or self._parts[number].platform_id is None for number in range(needed))

    def _stood(self) -> None:
        if not self._ends or (self._live.final and not self._lacks_messages()):
            self._stage.begun(self.spec)

    def _woken(self) -> None:
        if not self._live.over:
            self._live.said(len(self._text))

    def _after_text(self, cuts: list[PageCut]) -> LiveCall | None:
        """The calls after the text: the file, deletion of surplus messages, the choices."""
        number = self._calls.file.number(cuts)
        if number is not None:
            frame = self._upload(number, "")
            if frame is not None:
                return frame
        needed = len(cuts) if number is None else number + 1
        for surplus in sorted(self._parts):
            if surplus >= needed and (frame := self._surplus_frame(surplus)) is not None:
                return frame
        last = self._parts.get(len(cuts) - 1)
        if not self._offers or last is None or last.platform_id is None or last.offered:
            return None
        text = last.shown[0] if last.shown else cuts[-1].text
        return self._call("offer", len(self._text), partial(self._calls.offer, len(cuts) - 1, text))

    def _upload(self, number: int, text: str) -> LiveCall | None:
        part = self._parts.get(number)
        if part is not None and part.platform_id is not None:
            return None
        return self._call("upload", len(self._text), partial(self._calls.upload, number, text))

    def _surplus_frame(self, number: int) -> LiveCall | None:
        part = self._parts[number]
        if part.platform_id is None or part.gone:
            return None
        if self._stage.deleter is not None:
            return self._call("delete", len(self._text), partial(self._calls.delete, number))
        part.streaming = False
        return self._edit(number, part, SURPLUS, True, len(self._text))

    def _part_frame(self, number: int, cut: PageCut, done: bool) -> LiveCall | None:
        part = self._parts.get(number) or PagePart()
        if part.platform_id is None:
            return self._opening(number, part, cut, done)
        if part.streaming:
            return self._stream_frame(number, part, cut, done)
        if part.wide:
            return None
        if done:
            return self._edit(number, part, cut.text, True, self._covers(cut))
        text = close_open(cut.text)
        return None if self._hides(part, cut, text) else self._edit(number, part, text, False, self._covers(cut))

    def _hides(self, part: PagePart, cut: PageCut, text: str) -> bool:
        """Whether a growing text would take away what a stream has shown: the row of a table that is not whole, say."""
        if part.shown is not None:
            before, after = part.shown[0], text
        elif self._text.startswith(self._stands):  # an earlier process has shown it
            said = with_mentions(self._stands, self.spec.people, growing=True)
            before, after = said[cut.start : cut.end], text[cut.head :]
        else:
            return False
        return len(_letters(before)) > len(_letters(after)) and _letters(before).startswith(_letters(after))

    def _is_ended(self, number: int, cut: PageCut) -> bool:
        ended = self._parts[number].ends_at if number in self._parts else None
        return ended is not None and cut.end >= ended

    def _edit(self, number: int, part: PagePart, text: str, final: bool, covers: int) -> LiveCall | None:
        editor: CanEdit | None = self._stage.editor
        wanted = plain(text) if part.plain else text
        if editor is None or not wanted.strip() or (part.shown == (wanted, final) and not part.unclear):
            return None
        if not final and self._calls.previews:
            return None
        return self._call("edit", covers, partial(self._calls.edit, editor, number, wanted, final))

    def _opening(self, number: int, part: PagePart, cut: PageCut, done: bool) -> LiveCall | None:
        if not done and self._calls.previews:
            return self._preview(number, cut)
        if not done and self._stage.editor is None:
            return None
        covers = self._covers(cut)
        if self._opens_stream(part, cut, done):
            raw = cut.text if done else steady(cut, self._limit(), self._measure)
            if not raw.strip():
                return None
            return self._call("open_stream", covers, partial(self._calls.open_stream, number, raw))
        text = cut.text if done else close_open(cut.text)
        wanted = plain(text) if part.plain else text
        if not wanted.strip():
            return None
        if self._calls.searches(number):
            return self._call("edit", covers, partial(self._calls.recover, number, wanted))
        return self._call("send", covers, partial(self._calls.post, number, wanted, done))

    def _call(self, kind: Call, covers: int, call: Callable[[], Awaitable[bool | None]]) -> LiveCall:
        """A call after which people see so many characters. What posts may post twice where there are no nonces."""
        once = kind not in ("send", "upload", "open_stream") or self._stage.capabilities.idempotent_send
        return LiveCall(covers, call, idempotent=once, draws=self._stage.draws(self.spec, kind))

    def _opens_stream(self, part: PagePart, cut: PageCut, done: bool) -> bool:
        limits = self._stage.stream_limits
        if limits is None or not self._calls.streams or part.plain or part.refuses_streams:
            return False
        return not done or self._measure(cut.text) >= limits.worth_chars

    def _stream_frame(self, number: int, part: PagePart, cut: PageCut, done: bool) -> LiveCall | None:
        limits, confirmed = self._stage.stream_limits, part.shown[0] if part.shown else ""
        if not done and limits is not None and is_aged(limits, self._stage.clock.monotonic() - part.opened_at):
            said = self._said(final=False)
            end = ends_at(said, cut.end_of(len(confirmed), said))
            rooms = {**self._rooms(), number: PageRoom(self._limit(), end)}
            cut, done, part.ends_at = self._cut_with(said, rooms, growing=True)[number], True, end
        raw = cut.text if done else steady(cut, self._limit(), self._measure)
        if not raw.startswith(confirmed):
            if not done and confirmed.startswith(raw):
                return None
            if raw.rstrip() != confirmed.rstrip():
                part.leave_stream()
                return self._frame(final=self._live.final)
            raw = confirmed
        delta = raw[len(confirmed) :]
        if done:
            return self._call("close_stream", self._covers(cut), partial(self._calls.extend, number, delta, last=True))
        if not delta.strip():
            return None
        return self._call("append", self._covers(cut), partial(self._calls.extend, number, delta, last=False))

    def _preview(self, number: int, cut: PageCut) -> LiveCall | None:
        text = close_open(cut.text)
        if not text.strip() or not self._calls.preview_due(text):
            return None
        return self._call("edit", self._covers(cut), partial(self._calls.preview, number, text))

    def _covers(self, cut: PageCut) -> int:
        return min(cut.end, len(self._text))

    def _limit(self) -> int:
        limits = self._stage.stream_limits
        return limits.max_text if limits is not None and self._calls.streams else self._stage.capabilities.max_text

    def _rooms(self) -> dict[int, PageRoom]:
        """The room of each part that has not the usual one: no stream, or one that ended where it ended."""
        narrow, wide = self._stage.capabilities.max_text, self._limit()
        known = ((number, part) for number, part in self._parts.items() if not part.gone)
        rooms = (
            (number, PageRoom(wide if part.wide or self._is_free(part) else narrow, part.ends_at))
            for number, part in known
        )
        return {number: room for number, room in rooms if room != PageRoom(wide)}

    def _is_free(self, part: PagePart) -> bool:
        return part.platform_id is None and not part.refuses_streams and not part.plain

    def _cuts(self, *, final: bool) -> list[PageCut]:
        """The text in parts. An ended stream without its full text continues by edits."""
        text = self._said(final=final)
        while True:
            cuts = self._cut_with(text, self._rooms(), growing=not final)
            stale = [part for number, part in sorted(self._parts.items()) if _is_stale(part, cuts[number : number + 1])]
            if not stale:
                return cuts
            stale[0].leave_stream()

    def _cut_with(self, text: str, rooms: Mapping[int, PageRoom], *, growing: bool) -> list[PageCut]:
        key, known = (text, self._limit(), rooms), self._cut.get(growing)
        if known is not None and known[0] == key:
            return known[1]
        pieces = self._stage.capabilities.max_pieces
        cuts = cut_pages(text, self._limit(), self._measure, rooms, growing=growing, max_pieces=pieces)
        self._cut[growing] = (key, cuts)
        return cuts

    def _said(self, *, final: bool) -> str:
        """The text with its mentions; when finished, also with choices without a place, and the file's trouble."""
        text, spec, trouble = self._text, self.spec, self._calls.file.trouble if final else None
        known = self._mentioned.get(final)
        if known is not None and known[:2] == (text, trouble):
            return known[2]
        said = text
        if final and spec.choices and not self._offers:
            said = listed(said, spec.choices)
        if trouble is not None:
            said = "\n\n".join(piece for piece in (said.rstrip(), trouble) if piece)
        said = with_mentions(said, spec.people, growing=not final)
        self._mentioned[final] = (text, trouble, said)
        return said

    def _check(self, cuts: Sequence[PageCut], said: str) -> None:
        if _letters("".join(self._shown(number, cut) for number, cut in enumerate(cuts))) != _letters(said):
            self._calls.diverges("another text than was said")
        needed = len(cuts) + (self.spec.file is not None)
        surplus = [part for number, part in self._parts.items() if number >= needed and part.platform_id is not None]
        if not all(part.gone or part.shown == (SURPLUS, True) for part in surplus):
            self._calls.diverges("left over")
        if not self._calls.diverged:
            self._stage.tell(PageChecked(*self._calls.place, len(cuts), len(said)))

    def _shown(self, number: int, cut: PageCut) -> str:
        part = self._parts.get(number)
        known = part is not None and not part.plain and part.shown is not None and part.posts > 0
        text = part.shown[0] if known and part is not None and part.shown is not None else cut.text
        return text[cut.head :] if text else cut.text[cut.head :]


def _is_stale(part: PagePart, cut: list[PageCut]) -> bool:
    if not part.wide or part.streaming or part.platform_id is None or part.shown is None:
        return False
    return bool(cut) and cut[0].text.rstrip() != part.shown[0].rstrip()


def _letters(text: str) -> str:
    """The characters of a text that formatting cannot change."""
    return "".join(filter(str.isalnum, text))
