"""People's acts in a room: checked, stored in the room, and passed on to the consumer, which acknowledges each."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from itertools import islice
from uuid import uuid4

import anyio
from msgspec import Struct
from msgspec.structs import replace

from adapters.adapter import Act as Happening
from adapters.adapter import Inbound
from adapters.decoding import files_answered, rating_of_all
from adapters.pacing.bucket import KeyedBudgets
from adapters.web import codec
from adapters.web.board import RoomBoard
from adapters.web.charters import ShownFiles
from adapters.web.codec import MARKS, RefusalCode, WebVisitor
from adapters.web.hearing import Hearing, RoomThreads, heard_in, quote_of, whole_quote
from adapters.web.hub import ConnectedPage
from adapters.web.requests import Act, Change, Press, React, SayInRoom, StopAgents, TakeBack, command_of
from adapters.web.rooms import RoomRules
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import MessageGone, StorageUnavailable
from runtime.core.files import FILE_URL, FileStore, clean_file_name
from runtime.core.message import Attachment
from runtime.core.quote import Quote
from runtime.core.room import MessageReaction, RoomChange, RoomMessage, RoomPost

PLATFORM = "web"

Refusal = tuple[RefusalCode, str]

MAX_WAITING = 1_000
"""The number of messages that may wait; further ones are refused."""
MAX_TOGETHER = 64
"""The number of messages that are taken together. Chosen: more than the rooms in which people write at one moment."""


class WebIntake:
    """A queue for one consumer. An item leaves it when the consumer asks for the next one, not before."""

    def __init__(self) -> None:
        self._offers: deque[tuple[Inbound, Callable[[], None]]] = deque()
        self._news = anyio.Event()

    @property
    def full(self) -> bool:
        return len(self._offers) >= MAX_WAITING

    def put(self, inbound: Inbound, taken: Callable[[], None]) -> None:
        """Add a message, and what to call when it is stored. Ask `full` first; this always succeeds."""
        self._offers.append((inbound, taken))
        self._news.set()

    async def items(self) -> AsyncGenerator[Inbound]:
        """The waiting items, oldest first. A consumer that leaves in between leaves its item to the next one."""
        async with aclosing(self.together(1)) as several:
            async for (item,) in several:
                yield item

    async def together(self, at_most: int = MAX_TOGETHER) -> AsyncGenerator[Sequence[Inbound]]:
        while True:
            while not self._offers:
                self._news = anyio.Event()
                await self._news.wait()
            several = [inbound for inbound, _ in islice(self._offers, at_most)]
            yield several
            for _ in several:
                self._offers.popleft()[1]()


class ActRefused(Exception):
    """The act cannot be done; the text says why, for the person."""


class ActLedger(Struct, frozen=True):
    """The sources for checking acts, and their destination. Without `files` no message can have any file."""

    board: RoomBoard
    intake: WebIntake
    messages: KeyedBudgets
    clock: Clock
    files: FileStore | None
    hearing: Hearing
    shown_files: ShownFiles
    rules: RoomRules


class Acts:
    """The acts of one person on one page. `language` is the page's, such as `de`."""

    def __init__(self, ledger: ActLedger, browser: ConnectedPage, language: str | None) -> None:
        self._ledger = ledger
        self._threads = RoomThreads(ledger.board)
        self._browser = browser
        self._language = language

    @property
    def _person(self) -> WebVisitor:
        return self._browser.person

    async def take(self, act: Act) -> None:
        """Do the act, or tell the page why not. Raises StorageUnavailable, except for a message, which is refused."""
        if isinstance(act, SayInRoom):
            await self._say(act)
            return
        try:
            await self._do(act)
        except (ActRefused, MessageGone) as error:
            text = str(error) if isinstance(error, ActRefused) else "This message no longer exists."
            self._browser.push(codec.error(text))

    async def _do(self, act: Change | TakeBack | React | Press | StopAgents) -> None:
        if not self._ledger.messages.take(self._person.id):
            raise ActRefused("That is a lot at once. Try again in a moment.")
        if self._ledger.intake.full:
            raise ActRefused("Too much is waiting to be answered. Try again in a moment.")
        match act:
            case Change():
                await self._change(act)
            case TakeBack():
                await self._take_back(act)
            case React():
                await self._react(act)
            case Press():
                await self._press(act)
            case StopAgents(room, thread):
                if not await self._ledger.board.has(room):
                    raise ActRefused(f"There is no room {room!r}.")
                stop = self._inbound(Address(PLATFORM, room, thread), f"stop.{uuid4()}", "")
                self._pass_on(replace(stop, command="stop"))

    # Something said

    async def _say(self, say: SayInRoom) -> None:
        try:
            files = await self._attached(say)
            quote = await self._quoted(say)
            refusal = files if isinstance(files, tuple) else await self._refusal(say)
            if refusal is None and not isinstance(files, tuple):
                await self._post(say, tuple(files), quote)
                return
        except StorageUnavailable:
            refusal = "busy", "The chat's store does not answer. Trying again."
        if refusal is not None:
            self._browser.push(codec.refused(say.id, *refusal))

    async def _post(self, say: SayInRoom, files: tuple[Attachment, ...], quote: Quote | None) -> None:
        who, now = self._person, self._ledger.clock.now()
        post = RoomPost(say.id, who.id, who.name, "person", say.text, now, thread=say.thread, quote=quote, files=files)
        command, text = command_of(say.text)
        shown = files or command is None or self._ledger.rules.begins(command) or self._alone_with_an_agent(say.room)
        if not shown:
            given = self._inbound(Address(PLATFORM, say.room, say.thread), say.id, text)  # nobody else reads it
            self._pass_on(replace(given, command=command), lambda: self._browser.push(codec.frame("taken", id=say.id)))
            return
        for id_, _ in say.files:
            await self._ledger.shown_files.posted(id_, say.room)
        kept = await self._ledger.board.post(say.room, post)
        if not _is_repetition(kept, post):
            self._browser.push(codec.refused(say.id, "conflict", "Another message has this id. Send it again."))
            return
        if self._ledger.files is not None:  # a conversation keeps files longer than mere uploads are kept
            for file in kept.files:
                await self._ledger.files.attach(file.url.removeprefix(FILE_URL), _address(say.room, kept).key)
        heard = await self._ledger.hearing.hears(kept, say.room, command=command is not None)
        answered = await self._threads.answered(say.room, kept)
        ours = answered is not None and answered.author_kind == "agent"
        below = () if answered is None else files_answered(answered.files, ours=ours)
        inbound = replace(
            self._inbound(_address(say.room, kept), say.id, text),
            sent_at=kept.sent_at,
            addressed=heard,
            command=command,
            attachments=(*kept.files, *below),
            message_id=kept.id,
            quote=None if answered is None else whole_quote(answered),
        )
        self._pass_on(inbound, lambda: self._browser.push(codec.frame("taken", id=say.id)))

    async def _attached(self, say: SayInRoom) -> list[Attachment] | Refusal:
        attached: list[Attachment] = []
        for id_, name in say.files:
            head = None if self._ledger.files is None else await self._ledger.files.head(id_)
            if head is None or not await self._ledger.shown_files.shows(id_, self._person.id):
                return "invalid", f"The file {clean_file_name(name)} no longer exists. Attach it again."
            attached.append(Attachment(clean_file_name(name), head.media_type, FILE_URL + id_, head.size_bytes))
        return attached

    async def _quoted(self, say: SayInRoom) -> Quote | None:
        """What a message quotes: the open question above its thread, or what the person says, unless that is there."""
        asked = None if command_of(say.text)[0] else await self._threads.question(say.room, say.thread)
        wanted = asked.id if asked is not None else say.reply_to
        if wanted is None or (asked is None and wanted == say.thread):
            return None
        return await quote_of(self._ledger.board, say.room, wanted)

    async def _refusal(self, say: SayInRoom) -> Refusal | None:
        if len(say.text) > self._ledger.rules.max_text:
            return "too_long", self._too_long(say.text)
        if not say.text.strip() and not say.files:
            return "invalid", "An empty message cannot be sent."
        if not self._ledger.messages.take(self._person.id):
            return "slow_down", "That is a lot at once. The message will be sent in a moment."
        if self._ledger.intake.full:
            return "busy", "Too much is waiting to be answered. The message will be sent in a moment."
        known = await self._ledger.board.has(say.room)
        return None if known else ("invalid", f"There is no room {say.room!r}. Open it first.")

    def _too_long(self, text: str) -> str:
        most = self._ledger.rules.max_text
        return f"This message has {len(text):,} characters; {most:,} is the most. Shorten or split it."

    # What is done to a message

    async def _change(self, change: Change) -> None:
        if len(change.text) > self._ledger.rules.max_text:
            raise ActRefused(self._too_long(change.text))
        before = await self._own(change.room, change.id)
        if not change.text.strip() and not before.files:
            raise ActRefused("An empty message cannot be kept. Delete it instead.")
        if change.text == before.text:
            return
        kept = await self._ledger.board.amend(change.room, change.id, RoomChange(text=change.text, edited=True))
        self._pass_on(self._inbound_of(change.room, kept, "edit", change.text))

    async def _take_back(self, asked: TakeBack) -> None:
        await self._own(asked.room, asked.id)
        gone = RoomChange(text="", deleted=True, files=(), choices=())
        kept = await self._ledger.board.amend(asked.room, asked.id, gone)
        self._pass_on(self._inbound_of(asked.room, kept, "deletion", ""))

    async def _react(self, asked: React) -> None:
        if asked.mark and asked.mark not in MARKS:
            raise ActRefused("This reaction is not available.")
        before = await self._known(asked.room, asked.id)
        reaction = MessageReaction(self._person.name, asked.mark) if asked.mark else None
        change = RoomChange(reacted=(self._person.id, reaction))
        kept = await self._ledger.board.amend(asked.room, asked.id, change)
        if kept.version != before.version:
            inbound = self._inbound_of(asked.room, kept, "reaction", asked.mark)
            self._pass_on(replace(inbound, rating=rating_of_all([asked.mark])))

    async def _press(self, asked: Press) -> None:
        message = await self._known(asked.room, asked.id)
        choice = next((each for each in message.choices if each.id == asked.choice), None)
        if choice is None:
            raise ActRefused("This question has been answered already.")
        event = f"{message.id}.press.{choice.id}.{self._person.id}"
        inbound = self._inbound(_address(asked.room, message), event, choice.label)
        self._pass_on(replace(inbound, act="choice", message_id=message.id, choice=choice.id))

    async def _own(self, room: str, message_id: str) -> RoomMessage:
        message = await self._known(room, message_id)
        if (message.author_kind, message.author_id) != ("person", self._person.id):
            raise ActRefused("Only the author of a message can change it.")
        return message

    async def _known(self, room: str, message_id: str) -> RoomMessage:
        message = await self._ledger.board.message(room, message_id)
        if message is None:
            raise ActRefused("This message no longer exists.")
        return message

    # On its way

    def _inbound_of(self, room: str, kept: RoomMessage, act: Happening, text: str) -> Inbound:
        """The event of a change to a message. Its version makes each change a separate event."""
        event = f"{kept.id}.{act}.{kept.version}"
        return replace(self._inbound(_address(room, kept), event, text), act=act, message_id=kept.id)

    def _inbound(self, address: Address, event_id: str, text: str) -> Inbound:
        return Inbound(
            address=address,
            event_id=event_id,
            person_id=self._person.id,
            person_name=self._person.name,
            text=text,
            sent_at=self._ledger.clock.now(),
            private=self._alone_with_an_agent(address.conversation),
            addressed=True,
            language=self._language,
        )

    def _alone_with_an_agent(self, room: str) -> bool:
        charter = self._ledger.board.charters.known.get(room)
        return charter is not None and charter.kind == "direct" and bool(charter.agent)

    def _pass_on(self, inbound: Inbound, taken: Callable[[], None] = lambda: None) -> None:
        self._ledger.intake.put(inbound, taken)


def _is_repetition(kept: RoomMessage, post: RoomPost) -> bool:
    """Whether the author sends the room's message with this id again; it may have changed since."""
    if (kept.author_id, kept.thread) != (post.author_id, post.thread):
        return False
    return kept.edited or kept.deleted or (kept.text, kept.files) == (post.text, post.files)


def _address(room: str, message: RoomMessage) -> Address:
    return Address(PLATFORM, room, heard_in(message))
