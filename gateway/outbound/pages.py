"""The way out for pages: each goes to the presenter of its platform."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct
from msgspec.structs import replace

from adapters.adapter import Adapter, CanAnswerAlone, CanDownload, CanOpenThread, CanTellAlone, CanWriteAlone, FileData
from adapters.pages.presenter import PagePresenter
from adapters.pages.signs import PlatformReactions, TypingIndicator
from adapters.retrying import MayFail
from gateway.inbound.entrance import ConversationOrigins
from runtime.channels.outbox import UNRECORDED, Done, LivePage, QuietPage, unheard
from runtime.core.address import CLIENT, GATEWAY, SCRATCH, UNSEEN, Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, ContentLocked, NotDelivered, OutcomeUncertain, StorageError
from runtime.core.files import FILE_URL, FileStore
from runtime.core.message import Attachment, Choice, Mark
from runtime.core.page import PageRecord, PageSpec
from runtime.core.texts import Texts

GROWS_S = 0.5
"""The shortest time between two records of one text that grows: who follows the session reads it in such pieces."""

_log = logging.getLogger("adapters.outbound")
"""A logger beside those of the adapters, which the log follows."""


class AnswerPage(QuietPage):
    """A page whose last text one person sees. A crash between its being shown and noted shows it again."""

    def __init__(self, presenter: PagePresenter, spec: PageSpec, openly: Callable[[], LivePage]) -> None:
        """`openly` makes the page that everybody sees."""
        self._presenter = presenter
        self._spec = spec
        self._openly = openly
        self._page: LivePage | None = None
        self._over = False

    async def finish(self, text: str, /) -> bool:
        spec = self._spec
        if self._over:
            return False
        if self._page is None and await answered_alone(self._presenter, spec.address, spec.alone, text):
            return True
        self._page = self._page or self._openly()
        return await self._page.finish(text)

    async def rest(self) -> None:
        if self._page is not None:
            await self._page.rest()

    def abandon(self) -> None:
        self._over = True
        if self._page is not None:
            self._page.abandon()


async def answered_alone(presenter: PagePresenter, address: Address, person_id: str, text: str) -> bool:
    """Answer one person so that the others do not see it; False where that cannot be done."""
    adapter = presenter.adapter
    with MayFail(_log.info, "An answer for one person is said to everybody"):
        return isinstance(adapter, CanAnswerAlone) and await adapter.answer_alone(address, person_id, text)
    return False


class FollowedPage(QuietPage):
    """A page that is followed on the tape. What is finished sooner than its first record is not written down before."""

    def __init__(self, record: PageRecord, clock: Clock, tasks: TaskGroup) -> None:
        self._record = record
        self._clock = clock
        self._tasks = tasks
        self._text = ""
        self._writing = False
        self._over = False

    def update(self, text: str, /) -> None:
        self._text = text
        if not self._writing and not self._over:
            self._writing = True
            self._tasks.start_soon(self._write)

    async def _write(self) -> None:
        written = ""
        while self._text != written:
            await self._clock.sleep_until(self._clock.monotonic() + GROWS_S)
            if self._over:
                return
            written = self._text
            with suppress(AdapterError, StorageError):  # whoever executes the session learns it by its own commits
                await self._record.grows(written)
        self._writing = False

    def ends(self) -> None:
        self._over = True

    async def finish(self, text: str, /) -> bool:
        self._over = True
        return True

    async def rest(self) -> None:
        self._over = True

    def abandon(self) -> None:
        self._over = True


class NodeOutbound(Struct, frozen=True):
    """The outbox of a node: one presenter a platform."""

    presenters: Mapping[str, PagePresenter]
    typing: Mapping[str, TypingIndicator]
    marks: Mapping[str, PlatformReactions]
    texts: Mapping[str, Texts]
    """The texts by platform, with commands written in the platform's form."""
    tasks: TaskGroup
    origins: ConversationOrigins
    clock: Clock
    clients: bool = False
    """Whether clients may follow the texts of their tasks while they grow."""

    def __post_init__(self) -> None:
        for name, presenter in self.presenters.items():
            if name in self.typing:
                presenter.on_visible(self.typing[name].seen)

    def page(self, spec: PageSpec, record: PageRecord, /) -> LivePage:
        """See `Outbox`. A page for a platform that is switched off waits without end."""
        presenter = self.presenters.get(spec.address.platform)
        if spec.address.platform == SCRATCH or (spec.address.platform == CLIENT and self.clients):
            return FollowedPage(record, self.clock, self.tasks)
        if spec.address.platform == CLIENT:
            return QuietPage()
        if presenter is None:
            return _Unreachable(spec.address.platform)
        if spec.alone and not spec.parts:
            return AnswerPage(presenter, spec, lambda: self.page(replace(spec, alone=""), record))
        return presenter.page(spec, record)

    def thinking(self, address: Address, speaker: Speaker, active: bool, /, *, doing: str | None = None) -> None:
        typing = self.typing.get(address.platform)
        if typing is not None:
            typing.set(address, speaker, active, doing=doing)

    def mark(self, address: Address, message_id: str, mark: Mark | None, /, *, done: Done = unheard) -> bool:
        """See `Outbox`. Where a conversation refuses the mark that acknowledges a message, a sentence replaces it."""
        marks = self.marks.get(address.platform)
        return marks is not None and marks.put(address, message_id, mark, self._unmarked, done)

    def _unmarked(self, address: Address, mark: Mark | None) -> None:
        if mark == "queued":
            self._begin_saying(address, self.texts[address.platform]("session.queued"))

    async def open_thread(self, to: Address, title: str, /, *, nonce: str) -> Address | None:
        presenter = self.presenters.get(to.platform)
        opened = None if presenter is None else await presenter.open_thread(to, title, nonce)
        if opened is not None:
            await self.origins.note(opened, to)
        return opened

    async def link(self, to: Address, /) -> str | None:
        presenter = self.presenters.get(to.platform)
        with suppress(AdapterError):
            if presenter is not None and isinstance(presenter.adapter, CanOpenThread):
                return await presenter.adapter.link(to)
        return None

    async def private_with(self, to: Address, person: str, /) -> Address | None:
        presenter = self.presenters.get(to.platform)
        if presenter is None or person.partition(":")[0] != to.platform:
            return None
        with MayFail(_log.info, "A person cannot be written to in private", person=person):
            if isinstance(presenter.adapter, CanWriteAlone):
                return await presenter.adapter.private_with(to, person)
        return None

    def settle(self, page: PageSpec, text: str, chosen: str, /, *, done: Done = unheard) -> None:
        self.tasks.start_soon(_settled, self.presenters.get(page.address.platform), page, text, chosen, done)

    async def say(self, address: Address, text: str, choices: Sequence[Choice] = ()) -> None:
        """Tell a conversation something outside any session; in the background, and not stored."""
        self._begin_saying(address, text, choices)

    def tell_alone(self, address: Address, person_id: str, text: str) -> None:
        """Tell one person of a conversation something in private; in the background, and not stored."""
        self.tasks.start_soon(_told_alone, self.presenters[address.platform].adapter, address, person_id, text)

    def answer(self, address: Address, person_id: str, text: str, otherwise: str | None = None) -> None:
        """Answer who asked, in the background; where others would read it, they read `otherwise` if given."""
        self.tasks.start_soon(self._answer, address, person_id, text, otherwise)

    async def _answer(self, address: Address, person_id: str, text: str, otherwise: str | None) -> None:
        if not await answered_alone(self.presenters[address.platform], address, person_id, text):
            self._begin_saying(address, text if otherwise is None else otherwise)

    def _begin_saying(self, address: Address, text: str, choices: Sequence[Choice] = ()) -> None:
        spec = PageSpec(uuid.uuid4().hex, address, GATEWAY, choices=tuple(choices), leased=False)
        page = self.page(spec, UNRECORDED)
        self.tasks.start_soon(page.finish, text)


async def _told_alone(adapter: Adapter, address: Address, person_id: str, text: str) -> None:
    with MayFail(_log.warning, "A private notice failed", person=person_id):
        if isinstance(adapter, CanTellAlone):
            await adapter.tell_alone(address, person_id, text)


async def _settled(presenter: PagePresenter | None, page: PageSpec, text: str, chosen: str, done: Done) -> None:
    kept = page.address.platform in UNSEEN  # nobody sees choices there that were to be removed
    try:
        with suppress(AdapterError):  # a press that comes too late is answered as such
            if presenter is not None:
                await presenter.settle(page, text, chosen)
                kept = True
    finally:
        done(kept)


class _Unreachable(QuietPage):
    """A page of a conversation whose platform is not configured now."""

    def __init__(self, platform: str) -> None:
        self._platform = platform

    async def finish(self, text: str, /) -> bool:
        raise NotDelivered(f"{self._platform} is not set up here; the page stays in the outbox")


FETCH_TIMEOUT_S = 60.0


class NodeFileAccess(Struct, frozen=True):
    """The files of a node. Implements `runtime.core.files.FileAccess`."""

    adapters: Mapping[str, Adapter]
    store: FileStore

    async def keep(self, data: bytes, media_type: str, address: Address, /) -> str:
        """Store a file that an agent sends in this conversation; see `FileStore`."""
        return await self.store.keep(data, media_type, conversation=address.key)

    async def fetch(self, address: Address, attachment: Attachment, /, *, max_bytes: int) -> bytes:
        """A file's content. Raises NotDelivered when gone or too long, OutcomeUncertain after a time-out."""
        if attachment.size_bytes is not None and attachment.size_bytes > max_bytes:
            raise NotDelivered(_too_long(attachment, max_bytes))
        if attachment.url.startswith(FILE_URL):
            data = (await self.load(attachment)).data
        else:
            data = await self._downloaded(address, attachment, max_bytes)
        if len(data) > max_bytes:
            raise NotDelivered(_too_long(attachment, max_bytes))
        return data

    async def load(self, attachment: Attachment, /) -> FileData:
        """A file of Parley's own store, for sending. Raises NotDelivered when it is gone or cannot be opened."""
        try:
            found = await self.store.content(attachment.url.removeprefix(FILE_URL))
        except ContentLocked as error:
            raise NotDelivered(f"The file {attachment.name} cannot be opened. {error}") from error
        if found is None:
            raise NotDelivered(f"The file {attachment.name} no longer exists. Send it again.")
        return FileData(attachment.name, attachment.media_type, found.data, attachment.note)

    async def _downloaded(self, address: Address, attachment: Attachment, max_bytes: int) -> bytes:
        adapter = self.adapters.get(address.platform)
        if adapter is None or not isinstance(adapter, CanDownload):
            raise NotDelivered(f"{address.platform} provides no files; {attachment.name} cannot be read.")
        try:
            with anyio.fail_after(FETCH_TIMEOUT_S):
                return await adapter.download(attachment.url, max_bytes=max_bytes)
        except TimeoutError as error:
            text = f"{address.platform} did not give {attachment.name} within {FETCH_TIMEOUT_S:.0f} s. Try again."
            raise OutcomeUncertain(text) from error


def _too_long(attachment: Attachment, max_bytes: int) -> str:
    return f"The file {attachment.name} is longer than {max_bytes:,} bytes; it is not read."
