"""The browser chat: pages without a screen, over real WebSockets."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from msgspec.structs import replace

from adapters.adapter import Act, Adapter, Call, Inbound
from adapters.web.adapter import WebAdapter
from adapters.web.codec import WebVisitor
from runtime.core.address import Address
from runtime.core.clock import Clock, SystemClock
from runtime.core.room import RoomMessage, RoomPost
from tests.contract.stands.stand import Seen, Trouble, Who
from tests.fakes.memory.rooms import memory_tables
from tests.fakes.pages.page_socket import ADA, PageSocket, page_socket
from tests.fakes.pages.room_store import RoomStoreThatFails
from tests.fakes.pages.web_chat import WebChat, web_chat

LOBBY = Address("web", "lobby")
ADAS = Address("web", "ada")
_PEOPLE: dict[Who, WebVisitor] = {"ada": ADA, "bob": replace(ADA, id="web:bob", name="Bob")}


class _Rooms(RoomStoreThatFails):
    """Keeps every text that a message had, and can lose the answer to a change, or the change."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {}
        self.trouble: Trouble | None = None

    async def put(self, room: str, post: RoomPost, /) -> RoomMessage:
        self._fail("never_arrived")
        kept = await super().put(room, post)
        self._remember(kept)
        self._fail("answer_lost")
        return kept

    async def update(self, room: str, message_id: str, /, *, text: str, final: bool) -> RoomMessage | None:
        self._fail("never_arrived")
        kept = await super().update(room, message_id, text=text, final=final)
        if kept is not None:
            self._remember(kept)
        self._fail("answer_lost")
        return kept

    def _remember(self, kept: RoomMessage) -> None:
        texts = self.texts.setdefault(kept.id, [])
        if texts[-1:] != [kept.text]:
            texts.append(kept.text)

    def _fail(self, trouble: Trouble) -> None:
        if self.trouble == trouble:
            self.trouble = None
            self.away = True
            try:
                self._check()
            finally:
                self.away = False


class WebStand:
    """See `Stand`. Ada has a room of her own; a person's message there is addressed without a mention."""

    private = ADAS
    group = LOBBY
    tells: frozenset[Act] = frozenset({"message", "edit", "deletion", "reaction", "choice"})
    needs_mention = False
    troubles: frozenset[Trouble] = frozenset({"answer_lost", "never_arrived"})

    def __init__(self, chat: WebChat, rooms: _Rooms, stack: AsyncExitStack) -> None:
        self._chat = chat
        self._rooms = rooms
        self._stack = stack
        self._pages: dict[tuple[Who, str], PageSocket] = {}
        self._last: tuple[Who, Address, str, str] | None = None

    @property
    def adapter(self) -> WebAdapter:
        return self._chat.adapter

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[AsyncIterator[Inbound]]:
        async with self.adapter.connect() as inbound:
            yield inbound

    @asynccontextmanager
    async def another(self, _clock: Clock | None = None, /) -> AsyncGenerator[Adapter]:
        yield WebAdapter(memory_tables(self._rooms), SystemClock())

    async def topic(self) -> Address | None:
        return replace(LOBBY, thread="a-message")

    async def open_place(self) -> Address | None:
        return self.group

    @property
    def threadless(self) -> Address | None:
        return None

    async def say(self, text: str, to: Address, *, by: Who = "ada", addressed: bool = True) -> str:
        message = await (await self._page(by, to)).say(text, room=to.conversation, thread=to.thread)
        self._last = (by, to, text, message)
        return message

    async def say_again(self) -> None:
        assert self._last is not None
        by, to, text, message = self._last
        await (await self._page(by, to)).say(text, room=to.conversation, thread=to.thread, message_id=message)

    async def reply(self, text: str, to: Address, message: str) -> str:
        return await (await self._page("ada", to)).say(text, room=to.conversation, thread=to.thread, reply_to=message)

    async def rewrite(self, to: Address, message: str, text: str) -> None:
        await (await self._page("ada", to)).send("change", id=message, room=to.conversation, text=text)

    async def withdraw(self, to: Address, message: str) -> None:
        await (await self._page("ada", to)).send("take_back", id=message, room=to.conversation)

    async def press(self, to: Address, message: str, choice: str) -> None:
        posted = await self._rooms.get(to.conversation, message)
        assert posted is not None
        [known] = [each.id for each in posted.choices if each.label == choice]
        await (await self._page("ada", to)).send("press", id=message, room=to.conversation, choice=known)

    async def mark(self, to: Address, message: str) -> None:
        await (await self._page("ada", to)).send("react", id=message, room=to.conversation, mark="👍")

    async def marks_on(self, to: Address, message: str) -> int:
        posted = await self._rooms.get(to.conversation, message)
        assert posted is not None
        return len(set(posted.reactions) - {person.id for person in _PEOPLE.values()})

    async def remove(self, to: Address, message: str) -> None:
        raise LookupError("nobody but the gateway takes away a message of its own")

    async def seen(self, to: Address) -> list[Seen]:
        said = await self._rooms.history(to.conversation, limit=1000)
        return [
            Seen(
                each.id,
                each.author_name,
                each.text,
                tuple(self._rooms.texts.get(each.id, ())),
                f"(person:{_PEOPLE['bob'].id})" in each.text,
                tuple(choice.label for choice in each.choices),
                tuple(file.name for file in each.files),
                each.quote.message_id if each.quote is not None else None,
            )
            for each in said
            if each.author_kind == "agent" and each.thread == to.thread and not each.deleted
        ]

    def trouble(self, call: Call, to: Address, trouble: Trouble) -> None:
        self._rooms.trouble = trouble

    async def cut(self) -> None:
        for page in self._pages.values():
            await page.socket.close()
        self._pages.clear()

    async def _page(self, by: Who, to: Address) -> PageSocket:
        """A person's page of a room."""
        page = self._pages.get((by, to.conversation))
        if page is None:
            page = await self._stack.enter_async_context(page_socket(self._chat, _PEOPLE[by]))
            await page.send("open", name=to.conversation)
            await page.until("opened", room=to.conversation)
            await page.join(to.conversation)
            self._pages[by, to.conversation] = page
        return page


@asynccontextmanager
async def stand() -> AsyncGenerator[WebStand]:
    rooms = _Rooms()
    async with web_chat(rooms) as chat, AsyncExitStack() as stack:
        yield WebStand(chat, rooms, stack)
