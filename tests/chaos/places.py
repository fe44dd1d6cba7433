"""Conversations as the people in them see them: what they do there, and what the platform shows them."""

import re
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, Protocol
from uuid import uuid4

import anyio
import httpx
from msgspec import Struct
from websockets.exceptions import WebSocketException

from tests.chaos.stories import Said
from tests.e2e.gateway_process import Gateway, Room
from tests.fakes.discord.wire import DiscordPlatform
from tests.fakes.pages.page_socket import PageSocket
from tests.fakes.slack.conversations import Posted
from tests.fakes.slack.events import Event
from tests.fakes.slack.people import CHANNEL, DIRECT
from tests.fakes.slack.platform import SlackPlatform
from tests.fakes.telegram.platform import TelegramPlatform

_QUOTE = re.compile(r"\A-# [^\n]*\n")
"""The line above a webhook's text that says what it answers."""

_MADE = "opened this room."
"""The notice with which a room of the web chat begins."""


class Shown(Struct, frozen=True):
    """A message that people see; `choices` can be pressed, `growing` says that it is not finished."""

    text: str
    choices: tuple[str, ...] = ()
    growing: bool = False


class Place(Protocol):
    """One conversation. `repeats_orphans`: a crash at the wrong moment may leave a copy here, as the docs say.
    `has_choices`: people see what they may choose. `trouble`: why nobody can look at it just now."""

    repeats_orphans: bool
    has_choices: bool
    trouble: str

    async def say(self, text: str) -> None:
        """Say something; returns when the platform has it and cannot lose it any more."""
        ...

    async def answer(self, said: Said) -> None:
        """Answer the question that is shown: by its button, or by writing the answer."""
        ...

    def shown(self) -> list[Shown]:
        """What agents and the gateway have said, in order."""
        ...

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return when it holds; it is asked after everything that changes."""
        ...


class TelegramPlace:
    """A private chat, or a group that is spoken to by mention."""

    repeats_orphans = True
    has_choices = True
    trouble = ""

    def __init__(self, platform: TelegramPlatform, chat: int, person: int) -> None:
        self._platform = platform
        self._chat = chat
        self._person = person

    async def say(self, text: str) -> None:
        mention = "@ParleyBot " if self._chat < 0 else ""
        self._platform.say(mention + text, chat=self._chat, person=self._person)

    async def answer(self, said: Said) -> None:
        rows = [row for message in self._platform.messages(self._chat) for row in message.buttons]
        data = next(button["callback_data"] for row in rows for button in row if button["text"] == said.then)
        self._platform.press(data, chat=self._chat, person=self._person)

    def shown(self) -> list[Shown]:
        messages = self._platform.messages(self._chat)
        return [Shown(m.text, tuple(button["text"] for row in m.buttons for button in row)) for m in messages]

    async def until(self, holds: Callable[[], bool]) -> None:
        await self._platform.until(holds)


class SlackPlace:
    """A thread that begins with a direct message, or with a mention."""

    repeats_orphans = False
    has_choices = True
    trouble = ""

    def __init__(self, platform: SlackPlatform, counts: Counter[str], *, direct: bool) -> None:
        self._platform = platform
        self._counts = counts
        self._channel = DIRECT if direct else CHANNEL
        self._root: str | None = None
        self._direct = direct

    async def say(self, text: str) -> None:
        """Slack does not promise the order of what it repeats: people see their message taken before they go on."""
        events = self._platform.events
        before = set(events.events)
        speak = self._platform.say if self._direct or self._root is not None else self._platform.mention
        said = speak(text, channel=self._channel, thread=self._root)
        self._root = self._root or said
        await self._handed_over(set(events.events) - before)

    async def answer(self, said: Said) -> None:
        events = self._platform.events
        before = set(events.events)
        asked = [m for m in self._messages() if said.then in _slack_choices(m.blocks)]
        self._platform.press(said.then, asked[-1], channel=self._channel)
        await self._handed_over(set(events.events) - before)

    async def _handed_over(self, sent: set[str]) -> None:
        """Until all was acknowledged. What Slack has given up, after four tries, people do once more."""
        events = self._platform.events.events
        async with anyio.create_task_group() as tasks:
            for one in sent:
                tasks.start_soon(self._taken, events[one], one)

    async def _taken(self, event: Event, event_id: str) -> None:
        await self._platform.until(lambda: event.done.is_set() or event.given_up)
        if not event.done.is_set():
            self._counts["slack gave up"] += 1
            self._platform.events.again(event_id)
            await self._platform.until(event.done.is_set)

    def _messages(self) -> list[Posted]:
        return [m for m in self._platform.messages(self._channel) if m.thread_ts == self._root]

    def shown(self) -> list[Shown]:
        return [Shown(m.shown, _slack_choices(m.blocks), m.streaming) for m in self._messages()]

    async def until(self, holds: Callable[[], bool]) -> None:
        await self._platform.until(holds)


def _slack_choices(blocks: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(e["text"]["text"] for block in blocks if block["type"] == "actions" for e in block["elements"])


class DiscordPlace:
    """A direct message, or a thread that begins with a mention. Discord repeats no press, so people write answers."""

    repeats_orphans = False
    has_choices = True
    trouble = ""

    def __init__(self, platform: DiscordPlatform, *, person: str | None) -> None:
        self._platform = platform
        world = platform.world
        self._who = world.ada if person is None else world.person(person)
        self._where = None if person is None else world.private(self._who)

    async def say(self, text: str) -> None:
        world = self._platform.world
        if self._where is None:
            self._where = world.say(f"<@{world.bot}> {text}")
        else:
            world.say(text, self._where, self._who)

    async def answer(self, said: Said) -> None:
        await self.say(said.then)

    def shown(self) -> list[Shown]:
        if self._where is None or int(self._where) not in self._platform.world.backend.channels:
            return []
        return [Shown(_QUOTE.sub("", m.text), m.choices) for m in self._platform.world.messages(self._where)]

    async def until(self, holds: Callable[[], bool]) -> None:
        await self._platform.until(holds)


class _Seen(Room):
    """A room whose page keeps what it said until the gateway says that it is safe: being shown does not mean that."""

    def __init__(self, page: PageSocket, name: str) -> None:
        super().__init__(page, name)
        self.taken: set[str] = set()

    def _apply(self, frame: dict[str, Any]) -> None:
        super()._apply(frame)
        if frame["t"] == "taken":
            self.taken.add(frame["id"])
        elif frame["t"] == "refused":
            raise AssertionError(f"not taken now: {frame}")


class WebPlace:
    """A room, seen through one node's page. The page comes back when its connection ends, asks what has changed, and
    says again what was not taken, as the real one does."""

    repeats_orphans = False
    has_choices = True
    trouble = ""

    def __init__(self, name: str, node: Gateway) -> None:
        self._name = name
        self._node = node
        self._room: _Seen | None = None
        self._said: dict[str, str] = {}
        self._changed = anyio.Event()

    async def say(self, text: str) -> None:
        message_id = str(uuid4())
        self._said[message_id] = text
        await self._send(message_id)
        await self.until(lambda: message_id not in self._said)

    async def answer(self, said: Said) -> None:
        await self.say(said.then)

    def shown(self) -> list[Shown]:
        if self._room is None:
            return []
        ordered = sorted(self._room.messages.values(), key=lambda message: message["seq"])
        return [
            Shown(m["text"], tuple(choice["label"] for choice in m.get("choices", ())), bool(m["live"]))
            for m in ordered
            if m["kind"] == "agent" or (m["kind"] == "notice" and not m["text"].endswith(_MADE))
        ]

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await self._changed.wait()

    async def watch(self) -> None:
        """Look at the room, for ever; whoever waits is told of every change."""
        while True:
            try:
                async with AsyncExitStack() as stack:
                    with anyio.fail_after(10):
                        page = await stack.enter_async_context(self._node.page(f"Ada {self._name}"))
                        room, before = _Seen(page, self._name), self._room
                        await (room.open() if before is None else room.join_again(before))
                        self._room = room
                        self.trouble = ""
                        for message_id in list(self._said):
                            await self._send(message_id)
                    await room.until_that(self._noted, limit_s=None)
            except (OSError, WebSocketException, httpx.HTTPError, TimeoutError, AssertionError) as error:
                self.trouble = repr(error)
                with anyio.move_on_after(0.2):
                    await self._changed.wait()

    def _noted(self) -> bool:
        """Asked after every frame. Never enough."""
        assert self._room is not None
        for message_id in self._room.taken & set(self._said):
            del self._said[message_id]
        self._changed.set()
        self._changed = anyio.Event()
        return False

    async def _send(self, message_id: str) -> None:
        try:
            if self._room is not None:
                await self._room.say(self._said[message_id], message_id=message_id)
        except (OSError, WebSocketException):
            return
