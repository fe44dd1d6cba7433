"""The context that all pages of one platform share, the parts of a page, and its file."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from anyio.abc import TaskGroup
from msgspec import Struct, field

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
    ShowsAnswered,
)
from adapters.capabilities import Capabilities, Draws, Measure, StreamLimits
from adapters.markdown.paging import PageCut
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.recent import RecentValues
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import NotDelivered
from runtime.core.markup import as_written
from runtime.core.message import Attachment, Choice
from runtime.core.page import PageSpec
from runtime.core.texts import Texts, english
from runtime.events.happening import Tell

AGED_FROM = 0.8
"""The part of its lifetime after which a stream is closed and a new one started. Chosen: calls may be slow."""
TORN_FROM = 0.7
"""The part of a page's limit from which its last word may still move to the next page (`paging.TORN_MAX`)."""


class PagePart(Struct):
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
    lines = [f"{number}. {as_written(' '.join(choice.label.split()))}" for number, choice in enumerate(choices, 1)]
    return "\n\n".join(piece for piece in (text.rstrip(), "\n".join(lines)) if piece)


OWNED_MAX = 4096
Load = Callable[[Attachment], Awaitable[FileData]]
"""The content of a file to send. Raises NotDelivered when it no longer exists."""
OnVisible: TypeAlias = Callable[[Address, Speaker], None]
BESIDE_FILE_CHARS = 900
"""The longest text that is posted with its file, in characters; a caption takes 1024 units at least. Chosen."""


class FileSource(Struct, frozen=True):
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
        able = adapter.capabilities
        self.editor = adapter if able.edits and isinstance(adapter, CanEdit) else None
        self.doubter = adapter if isinstance(adapter, CanDoubt) else None
        self.deleter = adapter if able.deletes and isinstance(adapter, CanDelete) else None
        self.offerer = adapter if able.max_choices and isinstance(adapter, CanOffer) else None
        self.uploader = adapter if able.max_file_bytes and isinstance(adapter, CanUpload) else None
        self.previewer = adapter if able.preview and isinstance(adapter, CanPreview) else None
        self.recoverer = adapter if able.edits and isinstance(adapter, CanRecover) else None
        self.streamer = adapter if able.stream and self.editor and isinstance(adapter, CanStream) else None

    @property
    def capabilities(self) -> Capabilities:
        return self.adapter.capabilities

    @property
    def stream_limits(self) -> StreamLimits | None:
        return self.capabilities.stream if self.streamer is not None else None

    def draws(self, spec: PageSpec, call: Call) -> Draws | None:
        """The buckets of a call; None means the conversation's and the bot's."""
        if isinstance(self.adapter, CountsByMethod):
            return self.adapter.draws(spec.address, call, speaker=spec.speaker)
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
        if answered is not None and isinstance(self.adapter, ShowsAnswered):
            self.adapter.answers(platform_id, answered)

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


class PageFile(Struct):
    """The file. `trouble` says why it cannot be sent; None while it can, and for a page without one."""

    stage: PlatformContext
    spec: PageSpec
    trouble: str | None = None

    def number(self, cuts: Sequence[PageCut]) -> int | None:
        """The number of the file's message: the first, with a short text beside it, else the one after the text."""
        if self.spec.file is None or self.trouble is not None:
            return None
        beside = len(cuts) <= 1 and sum(len(cut.text) for cut in cuts) <= BESIDE_FILE_CHARS
        return 0 if beside else len(cuts)

    async def loaded(self) -> FileData | None:
        """The page's file; None after `trouble` was set."""
        wanted, most = self.spec.file, self.stage.capabilities.max_file_bytes
        if wanted is None:
            return None
        trouble, file = "out.file_too_large", None
        if self.stage.uploader is None or self.stage.file_source.load is None:
            trouble = "out.file_impossible"
        elif wanted.size_bytes is None or wanted.size_bytes <= most:
            try:
                file = await self.stage.file_source.load(wanted)
            except NotDelivered:
                trouble = "out.file_lost"
        if file is None or len(file.data) > most:
            self.fail(trouble)
            return None
        return file

    def fail(self, key: str) -> None:
        """Give the file up; the text of this key says so."""
        name = "" if self.spec.file is None else self.spec.file.name
        megabytes = self.stage.capabilities.max_file_bytes // 1_000_000
        self.trouble = self.stage.file_source.texts(key, name=name, megabytes=megabytes)
