"""The context that all pages of one platform share, and the file of a page."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from anyio.abc import TaskGroup

from adapters.adapter import (
    Adapter,
    Call,
    CanDelete,
    CanDoubt,
    CanEdit,
    CanOffer,
    CanPreview,
    CanRecover,
    CanStream,
    CanUpload,
    CountsByMethod,
    FileData,
)
from adapters.asides import ShowsAnswered
from adapters.capabilities import Budget, Capabilities, StreamLimits
from adapters.markdown.paging import PageCut
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.recent import RecentValues
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import NotDelivered
from runtime.core.message import Attachment
from runtime.core.page import PageSpec
from runtime.core.texts import Texts, english
from runtime.events.happening import Tell

OWNED_MAX = 4096
"""The number of newest messages whose page is remembered."""
Load = Callable[[Attachment], Awaitable[FileData]]
"""The content of a file to send. Raises NotDelivered when it no longer exists."""
OnVisible: TypeAlias = Callable[[Address, Speaker], None]
"""Hears that a part of an answer has become visible."""
BESIDE_FILE_CHARS = 900
"""The longest text that is posted with its file, in characters; a caption takes 1024 units at least. Chosen."""


@dataclass(frozen=True, slots=True)
class FileSource:
    """The source of files to send, and the texts about files that cannot be sent."""

    load: Load | None = None
    texts: Texts = field(default_factory=english)


class WaitingPage(Protocol):
    @property
    def spec(self) -> PageSpec: ...
    def release(self) -> None:
        """The page may start now."""


class PlatformContext:
    """The adapter and its capabilities, the scheduler, the conversations' queues, and the owner of each message."""

    def __init__(
        self,
        adapter: Adapter,
        scheduler: EditScheduler,
        clock: Clock,
        tell: Tell,
        tasks: TaskGroup | None,
        file_source: FileSource,
    ) -> None:
        self.adapter = adapter
        self.scheduler = scheduler
        self.clock = clock
        self.tell = tell
        self.file_source = file_source
        self.heard: list[OnVisible] = []
        self._tasks = tasks
        self._lines: dict[str, deque[WaitingPage]] = {}
        self._owners = RecentValues[tuple[str, str], str](OWNED_MAX)
        able, limits = adapter.capabilities, adapter
        self.editor: CanEdit | None = limits if able.edits and isinstance(limits, CanEdit) else None
        self.doubter: CanDoubt | None = adapter if isinstance(adapter, CanDoubt) else None
        self.deleter: CanDelete | None = limits if able.deletes and isinstance(limits, CanDelete) else None
        self.offerer: CanOffer | None = limits if able.max_choices and isinstance(limits, CanOffer) else None
        self.uploader: CanUpload | None = limits if able.max_file_bytes and isinstance(limits, CanUpload) else None
        self.previewer: CanPreview | None = limits if able.preview and isinstance(limits, CanPreview) else None
        self.recoverer: CanRecover | None = limits if able.edits and isinstance(limits, CanRecover) else None
        streams = able.stream is not None and self.editor is not None and isinstance(limits, CanStream)
        self.streamer: CanStream | None = limits if streams and isinstance(limits, CanStream) else None
        self._counter: CountsByMethod | None = adapter if isinstance(adapter, CountsByMethod) else None
        self._shows_answered: ShowsAnswered | None = adapter if isinstance(adapter, ShowsAnswered) else None

    @property
    def capabilities(self) -> Capabilities:
        return self.adapter.capabilities

    @property
    def stream_limits(self) -> StreamLimits | None:
        """None where there are no streams."""
        return self.capabilities.stream if self.streamer is not None else None

    def draws(self, spec: PageSpec, call: Call) -> Sequence[tuple[str, Budget]] | None:
        """The buckets of a call; None means the conversation's and the bot's."""
        if self._counter is not None:
            return self._counter.draws(spec.address, call, speaker=spec.speaker)
        limits = self.stream_limits
        if limits is not None and call in ("append", "open_stream", "close_stream"):
            key, _ = self.adapter.budget(spec.address)
            return ((f"{key}:{call}", limits.append if call == "append" else limits.opening),)
        return None

    def enter(self, page: WaitingPage, *, begins: bool) -> None:
        """Add the page to the end of its conversation's queue, if it `begins` with a message."""
        if begins:
            self._lines.setdefault(page.spec.address.key, deque()).append(page)

    def go_first(self, page: WaitingPage) -> None:
        """Complete this page first: pages that come now wait until all of it is visible."""
        line = self._lines.setdefault(page.spec.address.key, deque())
        if all(one.spec is not page.spec for one in line):
            line.appendleft(page)

    def is_busy(self, address: Address) -> bool:
        return address.key in self._lines

    def is_away(self, spec: PageSpec) -> bool:
        """Whether another node may have the page's conversation by now."""
        return not self.scheduler.may_show(spec.conversation)

    def begun(self, spec: PageSpec) -> None:
        """The page has its first message, all of them if it is complete, or needs none: the next one may start."""
        line = self._lines.get(spec.address.key)
        page = next((one for one in line or () if one.spec is spec), None)
        if line is None or page is None:
            return
        was_head = line[0] is page
        line.remove(page)
        if not line:
            del self._lines[spec.address.key]
        elif was_head:
            line[0].release()

    def claim(self, spec: PageSpec, platform_id: str) -> bool:
        """Whether the message may be this page's; False when it is another's."""
        key = (spec.address.conversation, platform_id)
        owner = self._owners.get(key)
        if owner is None:
            self._owners.keep(key, spec.id)
        return owner in (None, spec.id)

    def answered(self, spec: PageSpec, number: int) -> str | None:
        """What a message of the page answers: the first one does, where messages can."""
        return spec.reply_to if number == 0 and self.capabilities.quotes else None

    def remind(self, spec: PageSpec, number: int, platform_id: str) -> None:
        """Tell the platform what a message answers before it is changed, where its text shows that."""
        answered = self.answered(spec, number)
        if answered is not None and self._shows_answered is not None:
            self._shows_answered.answers(platform_id, answered)

    def landed(self, spec: PageSpec) -> None:
        for hear in self.heard:
            hear(spec.address, spec.speaker)

    def wake_at(self, monotonic_s: float, call: Callable[[], None]) -> None:
        """Call at this time, if a task group is there to wait in."""
        if self._tasks is not None:
            self._tasks.start_soon(self._wake_at, monotonic_s, call)

    async def _wake_at(self, monotonic_s: float, call: Callable[[], None]) -> None:
        await self.clock.sleep_until(monotonic_s)
        call()


class PageFile:
    """The file. `trouble` says why it cannot be sent; None while it can, and for a page without one."""

    def __init__(self, stage: PlatformContext, spec: PageSpec) -> None:
        self.trouble: str | None = None
        self._stage = stage
        self._spec = spec

    def number(self, cuts: Sequence[PageCut]) -> int | None:
        """The number of the message that the file is: the first, with a short text beside it, else the one after the
        text.
        """
        if self._spec.file is None or self.trouble is not None:
            return None
        beside = len(cuts) <= 1 and sum(len(cut.text) for cut in cuts) <= BESIDE_FILE_CHARS
        return 0 if beside else len(cuts)

    async def loaded(self) -> FileData | None:
        """The page's file; None after `trouble` was set."""
        wanted, most = self._spec.file, self._stage.capabilities.max_file_bytes
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
            self.fail(trouble)
            return None
        return file

    def fail(self, key: str) -> None:
        """Give the file up; the text of this key says so."""
        file = self._spec.file
        name = "" if file is None else file.name
        megabytes = self._stage.capabilities.max_file_bytes // 1_000_000
        self.trouble = self._stage.file_source.texts(key, name=name, megabytes=megabytes)
