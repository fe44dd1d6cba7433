"""Replies below an agent's message: the answer to its open question, or a conversation beside the room."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from adapters.adapter import Inbound
from runtime.core.address import Address, Speaker
from runtime.core.message import Choice
from tests.fakes.pages.page_socket import GRACE, PageSocket, page_socket
from tests.fakes.pages.web_chat import WebChat, web_chat

pytestmark = pytest.mark.anyio

LOBBY = Address("web", "lobby")
BELOW = Address("web", "lobby", "q")
GUIDE = Speaker("1000", "Guide")


async def asked(chat: WebChat, text: str = "How many do you **want?**") -> None:
    await chat.adapter.send(LOBBY, text, speaker=GUIDE, nonce="q", final=True)


async def test_the_first_reply_below_an_open_question_is_its_answer_and_the_next_begins_a_conversation() -> None:
    async with web_chat() as chat, page_socket(chat) as page, chat.adapter.connect() as said:
        await page.join()
        await asked(chat)
        answer = await page.say("three", thread="q")
        heard = await anext(said)
        assert (heard.address, heard.text, heard.quote and heard.quote.message_id) == (LOBBY, "three", "q")
        await page.send("change", id=answer, room="lobby", text="four")
        edit = await anext(said)
        assert (edit.act, edit.address) == ("edit", LOBBY)
        await page.say("by the way", thread="q")
        later = await anext(said)
        assert (later.address, later.quote) == (BELOW, None)


@pytest.mark.parametrize("text", ["You get three.", "Did you see? It is there.", "```\nx ? 1\n```"])
async def test_below_what_is_no_question_a_conversation_begins_that_knows_what_it_hangs_on(text: str) -> None:
    async with web_chat() as chat, page_socket(chat) as page, chat.adapter.connect() as said:
        await page.join()
        await asked(chat, text)
        first, second = await _said_twice(page, said)
        assert (first.address, second.address) == (BELOW, BELOW)
        assert first.quote is not None
        assert (first.quote.author, first.quote.text) == ("Guide", text)
        assert second.quote is None


async def test_words_below_choices_come_from_their_thread_which_the_session_holds() -> None:
    async with web_chat() as chat, page_socket(chat) as page, chat.adapter.connect() as said:
        await page.join()
        await asked(chat)
        await chat.adapter.offer(LOBBY, "q", "Which one?", [Choice("a", "This")], speaker=GUIDE, nonce="q")
        await page.say("neither", thread="q")
        assert (await anext(said)).address == BELOW


async def test_a_question_that_was_answered_or_passed_over_is_open_no_longer() -> None:
    async with (
        web_chat() as chat,
        page_socket(chat) as page,
        page_socket(chat, GRACE) as grace,
        chat.adapter.connect() as said,
    ):
        await page.join()
        await grace.join()
        await asked(chat)
        await grace.say("two")
        await anext(said)
        await page.say("three", thread="q", reply_to="q")
        heard = await anext(said)
        assert heard.address == BELOW
        await chat.adapter.send(LOBBY, "And of what?", speaker=GUIDE, nonce="r", final=True)
        await chat.adapter.send(LOBBY, "There are pears.", speaker=GUIDE, nonce="s", final=True)
        await page.say("apples", thread="r")
        assert (await anext(said)).address == Address("web", "lobby", "r")


async def test_a_command_below_an_open_question_is_for_the_thread() -> None:
    async with web_chat() as chat, page_socket(chat) as page, chat.adapter.connect() as said:
        await page.join()
        await asked(chat)
        await page.say("/status", thread="q")
        assert (await anext(said)).address == BELOW


async def _said_twice(page: PageSocket, said: AsyncIterator[Inbound]) -> tuple[Inbound, Inbound]:
    found = []
    for text in ("what do you mean", "and that"):
        await page.say(text, thread="q")
        found.append(await anext(said))
    return found[0], found[1]
