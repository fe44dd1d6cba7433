"""Whom a message in a room of the web chat is for: the agents, or people among themselves."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from adapters.web.codec import WebVisitor
from runtime.core.address import Address, Speaker
from tests.fakes.pages.page_socket import ADA, GRACE, PageSocket, page_socket
from tests.fakes.pages.web_chat import WebChat, web_chat

pytestmark = pytest.mark.anyio

LOBBY = Address("web", "lobby")
GUIDE = Speaker("1000", "Guide")


@dataclass
class Scene:
    """Ada writes, Grace reads, and what a gateway would hear."""

    chat: WebChat
    ada: PageSocket
    said: Any

    async def hears(self, text: str, **more: Any) -> bool:
        """Whether agents hear what Ada says."""
        await self.ada.say(text, **more)
        return bool((await anext(self.said)).addressed)


@asynccontextmanager
async def room(*, mentions_only: Sequence[str] = (), agents: Sequence[str] = ("Tax Guide",)) -> AsyncGenerator[Scene]:
    async with (
        web_chat(mentions_only=mentions_only, agents=agents) as chat,
        chat.adapter.connect() as said,
        page_socket(chat) as ada,
        page_socket(chat, GRACE) as grace,
    ):
        await ada.join()
        await grace.join()
        yield Scene(chat, ada, said)


async def test_agents_hear_what_is_said_to_everybody() -> None:
    async with room() as scene:
        assert await scene.hears("hello")
        assert await scene.hears("mail me at ada@example.org")
        assert await scene.hears(f"I told @{GRACE.name} already")


@pytest.mark.parametrize("text", [f"@{GRACE.name} lunch?", f"@{GRACE.name.lower()}: lunch?", f" @{GRACE.name}, lunch"])
async def test_what_begins_with_a_persons_name_is_for_that_person(text: str) -> None:
    async with room() as scene:
        assert not await scene.hears(text)


async def test_who_has_ones_own_name_is_spoken_to_by_a_link() -> None:
    async with room() as scene, page_socket(scene.chat, WebVisitor("web:other", ADA.name)) as other:
        await other.join()
        assert not await scene.hears(f"[@{ADA.name}](person:web:other) lunch?")
        assert await scene.hears(f"[@{ADA.name}](person:web:other) and @Tax Guide, lunch?")


@pytest.mark.parametrize("name", ["team", "Everyone"])
async def test_who_has_taken_the_word_for_all_does_not_take_what_is_said_to_all(name: str) -> None:
    async with room() as scene, page_socket(scene.chat, WebVisitor("web:other", name)) as other:
        await other.join()
        assert await scene.hears(f"@{name.lower()} who can help me?")
        assert not await scene.hears(f"@{GRACE.name} who can help me?")


async def test_a_person_who_has_left_is_still_spoken_to() -> None:
    async with room() as scene, page_socket(scene.chat, ADA) as other:
        await other.join()
    async with web_chat() as chat, chat.adapter.connect() as said, page_socket(chat) as ada:
        await ada.join()
        async with page_socket(chat, GRACE) as grace:
            await grace.join()
            await grace.say("bye")
            assert (await anext(said)).addressed
        await ada.say(f"@{GRACE.name} where are you?")
        assert not (await anext(said)).addressed


async def test_a_person_who_has_never_been_in_the_room_is_spoken_to() -> None:
    async with web_chat() as chat, chat.adapter.connect() as said, page_socket(chat) as ada:
        async with page_socket(chat, GRACE) as grace:
            await grace.join()
        await ada.send("open", name="garden")
        await ada.until("opened")
        await ada.say(f"@{GRACE.name} come here", room="garden")
        assert not (await anext(said)).addressed


@pytest.mark.parametrize(
    "text",
    [
        "@Tax Guide and you?",
        "@tax guide: and you?",
        f"@{GRACE.name} shall we ask @Tax Guide?",
        "@nobody of this name",
        f"@{GRACE.name}ly is no person",
        f"/tell @{GRACE.name}",
    ],
)
async def test_agents_hear_their_names_commands_and_names_that_nobody_has(text: str) -> None:
    async with room() as scene:
        assert await scene.hears(text)


async def test_one_who_speaks_of_oneself_is_heard() -> None:
    async with room() as scene:
        assert await scene.hears(f"@{ADA.name} is my name")


async def test_in_a_quiet_room_agents_hear_only_what_is_for_them() -> None:
    async with room(mentions_only=["lob*"]) as scene:
        assert not await scene.hears("what do we do for lunch?")
        assert await scene.hears("what do you think, @Tax Guide?")
        assert await scene.hears("/status")
        shown = await scene.chat.adapter.send(LOBBY, "Pizza!", speaker=GUIDE, nonce="n1", final=True)
        assert await scene.hears("which one?", reply_to=shown)
        assert await scene.hears("which one?", thread=shown)
        assert await scene.hears("and what says @guide?")
        assert not await scene.hears("I like pizza")


async def test_in_a_quiet_room_a_reply_to_a_person_is_for_that_person() -> None:
    async with room(mentions_only=["lobby"]) as scene:
        mine = await scene.ada.say("lunch?")
        assert not (await anext(scene.said)).addressed
        assert not await scene.hears("anybody?", reply_to=mine)
        assert not await scene.hears("nobody?", thread=mine)
