"""Conversations as people see them, on the web and on Telegram alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Protocol
from uuid import uuid4

import anyio

from tests.e2e.gateway_process import SEEN_LIMIT_S, Gateway, Room
from tests.fakes.telegram.chats import Posted
from tests.fakes.telegram.platform import PERSON, TelegramPlatform


class Talk(Protocol):
    """One conversation."""

    async def look(self, gateway: Gateway, stack: AsyncExitStack) -> None:
        """Look at it through this run of the gateway."""
        ...

    async def say(self, text: str) -> None:
        """Say something, also while nobody listens."""
        ...

    async def repeat(self) -> None:
        """Send what was said last once more, as pages and platforms do that had no answer."""
        ...

    def texts(self) -> list[str]:
        """What agents and the gateway have said, in order."""
        ...

    def ids(self) -> list[str]:
        """The ids of the messages whose texts `texts` gives."""
        ...

    async def until_that(self, holds: Callable[[], bool]) -> None:
        """Return when it holds; it is asked after everything that changes."""
        ...


async def until(talk: Talk, *texts: str) -> None:
    """Return when exactly these texts can be seen."""
    await talk.until_that(lambda: talk.texts() == list(texts))


async def until_begun(talk: Talk, part: str) -> None:
    """Return when the newest message begins with `part`."""
    await talk.until_that(lambda: any(text.startswith(part) for text in talk.texts()[-1:]))


async def until_said(talk: Talk, text: str) -> None:
    """Return when one of the messages is this text."""
    await talk.until_that(lambda: text in talk.texts())


class WebTalk:
    """A room of its own in the web chat. One person may say only so much at once, in all rooms together."""

    def __init__(self, name: str, person: str = "Ada") -> None:
        self.name = name
        self._person = person
        self._room: Room | None = None
        self._said: tuple[str, str] = ("", "")

    @property
    def room(self) -> Room:
        assert self._room is not None
        return self._room

    async def look(self, gateway: Gateway, stack: AsyncExitStack) -> None:
        page = await stack.enter_async_context(gateway.page(self._person))
        self._room = Room(page, self.name)
        await self._room.open()

    async def say(self, text: str) -> None:
        self._said = (text, str(uuid4()))
        await self.repeat()

    async def repeat(self) -> None:
        text, message_id = self._said
        await self.room.say(text, message_id=message_id)

    def texts(self) -> list[str]:
        return self.room.texts()

    def ids(self) -> list[str]:
        return self.room.ids()

    async def until_that(self, holds: Callable[[], bool]) -> None:
        await self.room.until_that(holds)


class TelegramTalk:
    """A chat with the bot: a private one, or a group where `chat` is negative.

    What begins as one of `notes` says for a while what an agent is doing, and does not count.
    """

    def __init__(
        self,
        platform: TelegramPlatform,
        chat: int = PERSON,
        person: int | None = None,
        *,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.platform = platform
        self._notes = notes
        self.chat = chat
        self._person = abs(chat) if person is None else person
        self._update = 0

    async def look(self, gateway: Gateway, stack: AsyncExitStack) -> None:
        """It is there whether or not the gateway runs."""

    async def say(self, text: str) -> None:
        self._update = self.platform.say(text, chat=self.chat, person=self._person)

    async def repeat(self) -> None:
        self.platform.again(self._update)

    def texts(self) -> list[str]:
        """What is read: the space that does not break, which an edit has when it is repeated, reads as another."""
        return [message.text.replace("\u00a0", " ") for message in self._messages()]

    def ids(self) -> list[str]:
        return [str(message.message_id) for message in self._messages()]

    def _messages(self) -> list[Posted]:
        return [message for message in self.platform.messages(self.chat) if not self._is_note(message.text)]

    def _is_note(self, text: str) -> bool:
        return bool(self._notes) and text.strip("*_").startswith(self._notes)

    def posts(self) -> int:
        """How many messages were ever posted here."""
        sends = self.platform.calls_of("sendMessage")
        return sum(
            call.params["chat_id"] == self.chat and call.status == 200 and not self._is_note(str(call.params["text"]))
            for call in sends
        )

    async def until_that(self, holds: Callable[[], bool]) -> None:
        try:
            with anyio.fail_after(SEEN_LIMIT_S):
                await self.platform.until(holds)
        except TimeoutError:
            raise AssertionError(f"chat {self.chat} shows {self.texts()}") from None


def begins_like(now: Sequence[str], before: Sequence[str]) -> bool:
    """Whether everything that was there before is there still, at its place."""
    return list(now[: len(before)]) == list(before)
