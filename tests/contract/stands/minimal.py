"""The least that a platform can be: only texts, in memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from adapters.adapter import Act, Adapter, Call, Inbound
from runtime.core.address import Address
from runtime.core.clock import Clock, SystemClock
from tests.contract.stands.stand import Seen, Trouble, Who
from tests.fakes.platforms.minimal_adapter import PLATFORM, MinimalAdapter
from tests.fakes.platforms.minimal_platform import BOT, MinimalPlatform, NoAnswer, Refused

_NAMES: dict[Who, str] = {"ada": "Ada", "bob": "Bob"}


class MinimalStand:
    """See `Stand`. What the platform cannot do is not asked of it, so those methods need not do anything."""

    private = Address(PLATFORM, "~ada")
    group = Address(PLATFORM, "square")
    tells: frozenset[Act] = frozenset({"message"})
    needs_mention = True
    troubles: frozenset[Trouble] = frozenset({"flood", "never_arrived", "forbidden"})

    def __init__(self) -> None:
        self._platform = MinimalPlatform([self.private.conversation, self.group.conversation], ["ada", "bob"])
        self._adapter = self._new()

    @property
    def adapter(self) -> Adapter:
        return self._adapter

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[AsyncIterator[Inbound]]:
        async with self._adapter.connect() as inbound:
            yield inbound

    @asynccontextmanager
    async def another(self, _clock: Clock | None = None, /) -> AsyncGenerator[Adapter]:
        yield self._new()

    async def topic(self) -> Address | None:
        return None

    async def open_place(self) -> Address | None:
        return None

    @property
    def threadless(self) -> Address | None:
        return None

    async def say(self, text: str, to: Address, *, by: Who = "ada", addressed: bool = True) -> str:
        named = f"{BOT}: {text}" if addressed and to == self.group else text
        return self._platform.say(named, to.conversation, person=by, name=_NAMES[by])

    async def say_again(self) -> None:
        self._platform.again()

    async def reply(self, text: str, to: Address, message: str) -> str:
        raise NotImplementedError("nothing is quoted here")

    async def rewrite(self, to: Address, message: str, text: str) -> None:
        raise NotImplementedError("what was said stays as it is")

    async def withdraw(self, to: Address, message: str) -> None:
        raise NotImplementedError("what was said stays")

    async def press(self, to: Address, message: str, choice: str) -> None:
        raise NotImplementedError("no choices are shown")

    async def mark(self, to: Address, message: str) -> None:
        raise NotImplementedError("there are no marks")

    async def marks_on(self, to: Address, message: str) -> int:
        return 0

    async def remove(self, to: Address, message: str) -> None:
        self._platform.posts[:] = [post for post in self._platform.posts if post.id != message]

    async def seen(self, to: Address) -> list[Seen]:
        return [
            Seen(post.id, "", post.text, (post.text,), bool(post.notified))
            for post in self._platform.posts
            if post.room == to.conversation
        ]

    def trouble(self, call: Call, to: Address, trouble: Trouble) -> None:
        match trouble:
            case "flood":
                self._platform.fail_next(Refused("flood", wait_s=1.0))
            case "forbidden":
                self._platform.fail_next(Refused("forbidden"))
            case "never_arrived" | "answer_lost":
                self._platform.fail_next(NoAnswer())

    async def cut(self) -> None:
        self._platform.cut()

    def _new(self) -> MinimalAdapter:
        return MinimalAdapter(self._platform, SystemClock())


@asynccontextmanager
async def stand() -> AsyncGenerator[MinimalStand]:
    yield MinimalStand()
