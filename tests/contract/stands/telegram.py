"""Telegram: the fake server behind the real client library."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from msgspec.structs import replace

from adapters.adapter import Act, Adapter, Call, Inbound
from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.options import TelegramOptions
from runtime.core.address import Address
from runtime.core.clock import Clock, SystemClock
from tests.contract.stands.stand import COMMANDS, Seen, Trouble, Who
from tests.contract.telegram.speaking import ADA, US, new_adapter
from tests.fakes.telegram.platform import USERNAME, TelegramPlatform
from tests.fakes.telegram.server import serving

_PEOPLE: dict[Who, tuple[int, str]] = {"ada": (42, "Ada Lovelace"), "bob": (43, "Bob")}
_METHODS: dict[Call, str] = {"send": "sendMessage", "edit": "editMessageText", "delete": "deleteMessage"}


class TelegramStand:
    """See `Stand`."""

    private = ADA
    group = US
    tells: frozenset[Act] = frozenset({"message", "edit", "reaction", "choice"})
    needs_mention = True
    troubles: frozenset[Trouble] = frozenset({"flood", "answer_lost", "never_arrived", "forbidden"})

    def __init__(self, platform: TelegramPlatform, options: TelegramOptions, adapter: TelegramAdapter) -> None:
        self.platform = platform
        self._options = options
        self._adapter = adapter
        self._last = 0

    @property
    def adapter(self) -> TelegramAdapter:
        return self._adapter

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[AsyncIterator[Inbound]]:
        async with self._adapter.connect() as inbound:
            yield inbound

    @asynccontextmanager
    async def another(self, clock: Clock | None = None, /) -> AsyncGenerator[Adapter]:
        async with aclosing(new_adapter(self._options, clock=clock)) as adapter:
            yield adapter

    async def topic(self) -> Address | None:
        self.platform.chats.open_topic(int(US.conversation), 9)
        return replace(US, thread="9")

    async def open_place(self) -> Address | None:
        self.platform.chats.open(int(US.conversation), forum=True)
        return US

    @property
    def threadless(self) -> Address | None:
        return self.private

    async def say(self, text: str, to: Address, *, by: Who = "ada", addressed: bool = True) -> str:
        person, name = _PEOPLE[by]
        mentioned = f"@{USERNAME} {text}" if addressed and to == US else text
        where = {"thread": int(to.thread)} if to.thread is not None else {}
        return self._said(self.platform.say(mentioned, chat=int(to.conversation), person=person, name=name, **where))

    async def say_again(self) -> None:
        self.platform.again(self._last)

    async def reply(self, text: str, to: Address, message: str) -> str:
        return self._said(self.platform.say(text, chat=int(to.conversation), reply_to=message))

    async def rewrite(self, to: Address, message: str, text: str) -> None:
        self._last = self.platform.rewrite(text, chat=int(to.conversation), message_id=int(message))

    async def withdraw(self, to: Address, message: str) -> None:
        raise LookupError("Telegram does not tell bots of deletions")

    async def press(self, to: Address, message: str, choice: str) -> None:
        shown = [each for each in self.platform.messages(int(to.conversation)) if str(each.message_id) == message]
        [data] = [b["callback_data"] for each in shown for row in each.buttons for b in row if b["text"] == choice]
        self._last = self.platform.press(data, chat=int(to.conversation))

    async def mark(self, to: Address, message: str) -> None:
        self._last = self.platform.mark("👍", chat=int(to.conversation), message=int(message))

    async def marks_on(self, to: Address, message: str) -> int:
        return len(self.platform.chats.reactions.get((int(to.conversation), int(message)), ""))

    async def remove(self, to: Address, message: str) -> None:
        self.platform.delete(int(to.conversation), int(message))

    async def seen(self, to: Address) -> list[Seen]:
        return [
            Seen(
                str(each.message_id),
                "",
                each.text,
                tuple(each.history),
                _pings(each.entities),
                tuple(button["text"] for row in each.buttons for button in row),
                () if each.file is None else (each.file,),
                None if each.reply_to is None else str(each.reply_to),
            )
            for each in self.platform.messages(int(to.conversation))
            if str(each.thread or "") == (to.thread or "")
            if each.thread == (None if to.thread is None else int(to.thread))
        ]

    def trouble(self, call: Call, to: Address, trouble: Trouble) -> None:
        method = _METHODS[call]
        match trouble:
            case "flood":
                self.platform.fail(method, "flood")
            case "answer_lost":
                self.platform.fail(method, "bad_gateway", applied=True)
            case "never_arrived":
                self.platform.fail(method, "drop")
            case "forbidden":
                self.platform.fail(method, "refuse", code=403, description="Forbidden: bot was kicked")

    async def cut(self) -> None:
        self.platform.fail("getUpdates", "bad_gateway")

    def _said(self, update: int) -> str:
        self._last = update
        return str(self.platform.message_of(update))


def _pings(entities: list[dict[str, object]]) -> bool:
    return any(entity["type"] in ("mention", "text_mention") for entity in entities)


@asynccontextmanager
async def stand() -> AsyncGenerator[TelegramStand]:
    platform = TelegramPlatform()
    async with serving(platform) as address:
        options = TelegramOptions(base_url=f"{address}/bot", commands=COMMANDS)
        async with aclosing(new_adapter(options, clock=SystemClock())) as adapter:
            yield TelegramStand(platform, options, adapter)
