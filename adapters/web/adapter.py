"""The browser chat as a platform of our own: the gateway stores and shows what a platform otherwise would."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from adapters.adapter import FileData, Inbound
from adapters.capabilities import Budget, Capabilities
from adapters.pacing.bucket import KeyedBudgets
from adapters.records import ChangedTogether
from adapters.web import codec
from adapters.web.acts import PLATFORM, ActLedger, WebIntake
from adapters.web.board import RoomBoard
from adapters.web.charters import MAX_TITLE, RoomCharter, RoomCharters, RoomHues, ShownFiles, charter_of
from adapters.web.codec import WebVisitor
from adapters.web.echo import Echo, RoomNews
from adapters.web.gatherings import PeopleDirectory, RoomGatherings
from adapters.web.hearing import Hearing, RoomThreads, quote_of
from adapters.web.hub import Hub
from adapters.web.requests import MAX_ROOM_NAME, room_id
from adapters.web.rooms import MAX_TEXT, RoomRules, RoomStore
from adapters.web.visit import FRAMES, MESSAGES, House, PageLink, PageVisit
from runtime.core.address import GATEWAY, Address, Speaker
from runtime.core.background import beside
from runtime.core.clock import Clock
from runtime.core.errors import FileTooLarge, MessageGone, NotDelivered, OutcomeUncertain, StorageUnavailable
from runtime.core.files import FILE_URL, MAX_FILE_BYTES, FileStore, clean_file_name
from runtime.core.message import Attachment, Choice, Mark
from runtime.core.room import AuthorKind, MessageReaction, RoomChange, RoomPost

_ROOM_BUDGET = Budget(rate_per_s=30.0, burst=60)
CAPABILITIES = Capabilities(
    max_text=MAX_TEXT,
    text_unit="codepoints",
    edits=True,
    threads=True,
    idempotent_send=True,
    typing_lasts_s=5.0,
    private_budget=_ROOM_BUDGET,
    group_budget=_ROOM_BUDGET,
    total_budget=Budget(rate_per_s=3_000.0, burst=6_000),
    source="our own platform: 30 edits/s are one for every second frame of a 60 Hz screen",
    deletes=True,
    quotes=True,
    reactions=True,
    status_text=True,
    max_choices=12,
    max_choice_label=80,
)

_NONCE_BYTES = 4

_MARKS: dict[Mark, str] = {"seen": "👀", "queued": "⏳", "stopped": "⏹️", "failed": "⚠️"}
_OURS = "parley"
"""The id under which the gateway puts its marks on messages."""
_UNTITLED = "room"


class RoomTables(Struct, frozen=True):
    """Rooms with their messages, and records about rooms and people."""

    rooms: RoomStore
    charters: ChangedTogether
    directory: ChangedTogether
    files: ChangedTogether
    hues: ChangedTogether


_OPEN = RoomRules()


class WebAdapter:
    """Rooms and threads in browsers.

    A room is `Address("web", room)`, a thread in it `Address("web", room, thread=<id of the message it hangs on>)`.
    A message's platform id is the nonce it was sent with; a person's is the UUID that the page made, and it is also
    the event id, so a message that a page sends again after a reconnect is recognised. A page is told that its
    message is taken when the consumer of `connect()` asks for the next one.
    """

    name = PLATFORM
    capabilities = CAPABILITIES

    def __init__(
        self,
        tables: RoomTables,
        clock: Clock,
        *,
        files: FileStore | None = None,
        commands: Mapping[str, str] | None = None,
        news: RoomNews | None = None,
        rules: RoomRules = _OPEN,
    ) -> None:
        """Without `files` none are taken or sent; `commands` are those of its menu, with what they do. `news` is the
        way to the other nodes, where there may be any."""
        self._rooms = tables.rooms
        self._clock = clock
        self._files = files
        self.capabilities = replace(CAPABILITIES, max_file_bytes=0 if files is None else MAX_FILE_BYTES)
        self._titled = rules.titled
        self._hub = Hub()
        self._intake = WebIntake()
        self._echo = Echo(news, clock)
        charters = RoomCharters(tables.charters)
        self.board = RoomBoard(tables.rooms, self._hub, self._echo, charters, RoomHues(tables.hues))
        directory = PeopleDirectory(tables.directory)
        gatherings = RoomGatherings(self.board, directory, clock, rules)
        hearing = Hearing(self.board, directory, rules)
        self.shown_files = ShownFiles(tables.files, charters)
        budget = KeyedBudgets(MESSAGES, clock)
        ledger = ActLedger(self.board, self._intake, budget, clock, files, hearing, self.shown_files, rules)
        self._house = House(ledger, self._hub, self._echo, KeyedBudgets(FRAMES, clock), commands or {}, gatherings)

    async def known_as(self, person: WebVisitor) -> WebVisitor:
        """The person under the name that they have here. Raises StorageUnavailable."""
        return await self._house.gatherings.directory.known_as(person)

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Inbound]]:
        """People's events, in the order in which the rooms show them, for one consumer at a time."""
        async with beside() as tasks, aclosing(self._intake.items()) as items:
            tasks.start_soon(self._echo.run, self.board)
            yield items

    @asynccontextmanager
    async def connect_together(self) -> AsyncGenerator[AsyncIterator[Sequence[Inbound]]]:
        async with beside() as tasks, aclosing(self._intake.together()) as several:
            tasks.start_soon(self._echo.run, self.board)
            yield several

    async def earlier(self, to: Address, before: str, /, *, at_most: int) -> Sequence[Inbound]:
        return await RoomThreads(self.board).earlier(to, before, at_most)

    def budget(self, to: Address, /) -> tuple[str, Budget]:
        """One bucket for each room, which its threads share."""
        return f"{PLATFORM}:{to.conversation}", _ROOM_BUDGET

    async def check(self) -> str:
        """Whether the rooms can be read. Raises NotDelivered."""
        try:
            rooms = await self._rooms.rooms()
        except StorageUnavailable as error:
            raise NotDelivered(f"web: the rooms cannot be read: {error}") from error
        return f"web: {len(rooms)} rooms, no token needed"

    async def send(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, final: bool, reply_to: str | None = None
    ) -> str:
        """Show a message. Raises OutcomeUncertain when the store does not answer."""
        with _kept(nonce):
            await self._show(to, replace(self._post(to, text, speaker, nonce), final=final), reply_to)
        return nonce

    async def edit(self, to: Address, message: str, text: str, /, *, speaker: Speaker, nonce: str, final: bool) -> None:
        """Change a message. Raises MessageGone, and OutcomeUncertain when the store does not answer."""
        with _kept(message):
            await self.board.change(to.conversation, message, text, final=final)

    async def delete(self, to: Address, message: str, /, *, speaker: Speaker) -> None:
        """Delete a message. Raises OutcomeUncertain when the store does not answer."""
        gone = RoomChange(text="", deleted=True, final=True, files=(), choices=())
        with _kept(message), suppress(MessageGone):
            await self.board.amend(to.conversation, message, gone)

    async def offer(
        self, to: Address, message: str, text: str, choices: Sequence[Choice], /, *, speaker: Speaker, nonce: str
    ) -> None:
        """Show exactly these choices below a message. Raises as `edit`."""
        with _kept(message):
            await self.board.amend(to.conversation, message, RoomChange(text=text, final=True, choices=tuple(choices)))

    async def react(self, to: Address, message: str, mark: Mark | None, /) -> None:
        """Put our mark on a message; a missing message is no error."""
        reaction = None if mark is None else MessageReaction("Parley", _MARKS[mark])
        with _kept(message), suppress(MessageGone):
            await self.board.amend(to.conversation, message, RoomChange(reacted=(_OURS, reaction)))

    async def upload(
        self, to: Address, file: FileData, text: str, /, *, speaker: Speaker, nonce: str, reply_to: str | None = None
    ) -> str:
        """Show a message with a file. Raises NotDelivered for one that is too long, else as `send`."""
        if self._files is None:
            raise NotDelivered("web: this chat takes no files")
        with _kept(nonce):
            try:
                id_ = await self._files.keep(file.data, file.media_type)
            except FileTooLarge as error:
                raise NotDelivered(f"web: {error}") from error
            await self.shown_files.posted(id_, to.conversation)
            name, size = clean_file_name(file.name), len(file.data)
            attached = Attachment(name, file.media_type, FILE_URL + id_, size, note=file.alt)
            await self._show(to, replace(self._post(to, text, speaker, nonce), files=(attached,)), reply_to)
        return nonce

    async def download(self, url: str, /, *, max_bytes: int) -> bytes:
        """The content of a file that was uploaded here. Raises NotDelivered."""
        found = None
        if self._files is not None and url.startswith(FILE_URL):
            with _kept(url):
                found = await self._files.content(url.removeprefix(FILE_URL))
        if found is None or len(found.data) > max_bytes:
            raise NotDelivered(f"web: the file {url} no longer exists, or is longer than {max_bytes:,} bytes")
        return found.data

    async def tell_alone(self, to: Address, person_id: str, text: str, /) -> None:
        """Show a text on the pages on which this person looks at the room. Nobody keeps it."""
        self.board.tell_alone(to.conversation, person_id, codec.alone(to.conversation, to.thread, text))

    async def answer_alone(self, to: Address, person_id: str, text: str, /) -> bool:
        """As `tell_alone`. Somebody who has left sees no answer, rather than that everybody sees it."""
        await self.tell_alone(to, person_id, text)
        return True

    async def open_thread(self, to: Address, title: str, /, *, nonce: str) -> Address | None:
        """A new room, named after its title and its nonce. Its first message is the title."""
        with _kept(to.conversation):
            above = await self.board.charters.get(to.conversation)
        closed = above.kind != "open"  # who does not see the room does not see what comes of it
        id_ = room_of("private" if closed else title if self._titled else _UNTITLED, nonce)
        opened = Address(PLATFORM, id_)
        if closed:
            made = RoomCharter(title[:MAX_TITLE], "private", above.made_by, above.people)
            with _kept(nonce):
                await self.board.alter(id_, lambda now: made if now == charter_of(id_, None) else now)
        await self.send(opened, title, speaker=GATEWAY, nonce=nonce, final=True)
        return opened

    async def link(self, to: Address, /) -> str | None:
        """The link to a room: the page opens the room named behind the `#` of its address."""
        return f"#{quote(to.conversation)}"

    async def typing(self, to: Address, speaker: Speaker, /, *, doing: str | None = None) -> None:
        who = WebVisitor(speaker.id, speaker.name)
        self._tell(to, codec.typing(to.conversation, to.thread, who, "agent", doing=doing))

    async def end_typing(self, to: Address, speaker: Speaker, /) -> None:
        who = WebVisitor(speaker.id, speaker.name)
        self._tell(to, codec.typing(to.conversation, to.thread, who, "agent", ended=True))

    def _tell(self, to: Address, frame: str) -> None:
        self._hub.to_room(to.conversation, frame)
        self._echo.frame(to.conversation, frame)

    @property
    def pages(self) -> int:
        return self._hub.pages

    async def tell_pages(self) -> None:
        await self._hub.bulletin.run(self._clock)

    async def attend(self, link: PageLink, person: WebVisitor, *, language: str | None = None) -> None:
        """Serve one page over its WebSocket until either side ends it. `language` is the person's, such as `de`."""
        await PageVisit(self._house, link, person, language).run()

    def _post(self, to: Address, text: str, speaker: Speaker, nonce: str) -> RoomPost:
        kind: AuthorKind = "agent" if speaker.id else "notice"
        now = self._clock.now()
        post = RoomPost(nonce, speaker.id, speaker.name, kind, text, now, thread=to.thread, to=speaker.to)
        return replace(post, meeting=speaker.meeting)

    async def _show(self, to: Address, post: RoomPost, reply_to: str | None) -> None:
        if reply_to is not None:
            post = replace(post, quote=await quote_of(self.board, to.conversation, reply_to))
        kept = await self.board.post(to.conversation, post)
        if post.final and not kept.final:
            await self.board.change(to.conversation, post.id, post.text, final=True)


def room_of(title: str, nonce: str) -> str:
    """The id of a room opened with this title and nonce."""
    digest = hashlib.blake2b(nonce.encode(), digest_size=_NONCE_BYTES).hexdigest()
    return room_id(f"{room_id(title)[: MAX_ROOM_NAME - len(digest) - 1]}-{digest}")


@contextmanager
def _kept(what: str) -> Iterator[None]:
    """A store that does not answer may or may not have stored it."""
    try:
        yield
    except StorageUnavailable as error:
        raise OutcomeUncertain(f"web: what was to become of {what} may not be kept: {error}") from error
