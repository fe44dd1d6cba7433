"""The browser chat over real WebSockets: nothing lost, nothing twice, one order, and nobody in another's way."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from adapters.adapter import CanAnswerAlone, CanEdit, CanShowTyping
from adapters.web import board
from runtime.core.address import GATEWAY, Address, Speaker
from runtime.core.errors import MessageGone
from tests.fakes.pages.page_socket import GRACE, PageSocket, page_socket
from tests.fakes.pages.web_chat import web_chat

pytestmark = pytest.mark.anyio

LOBBY = Address("web", "lobby")
GUIDE = Speaker("1000", "Guide")


def texts(frame: dict[str, list[dict[str, str]]]) -> list[str]:
    return [message["text"] for message in frame["messages"]]


async def ask_for_more(said: AsyncIterator[object]) -> None:
    await anext(said)


async def test_the_adapter_can_what_its_capabilities_say() -> None:
    async with web_chat() as chat:
        assert isinstance(chat.adapter, CanEdit)
        assert isinstance(chat.adapter, CanShowTyping)
        assert chat.adapter.capabilities.edits
        assert chat.adapter.budget(LOBBY)[0] == chat.adapter.budget(Address("web", "lobby", "a thread"))[0]
        assert await chat.adapter.check() == "web: 0 rooms, no token needed"


async def test_a_message_arrives_as_what_a_person_said() -> None:
    async with web_chat() as chat, page_socket(chat) as page, chat.adapter.connect() as said:
        await page.join()
        sent = await page.say("hello", thread="m-1")
        got = await anext(said)
        assert (got.address, got.event_id, got.text) == (Address("web", "lobby", "m-1"), sent, "hello")
        assert (got.person_id, got.person_name, got.addressed, got.private) == ("web:ada", "Ada", True, False)
        await page.say("/new  about taxes")
        command = await anext(said)
        assert (command.command, command.text) == ("new", "about taxes")


async def test_an_answer_to_a_command_is_seen_by_who_asked_alone() -> None:
    async with web_chat() as chat, page_socket(chat) as ada, page_socket(chat, GRACE) as grace:
        await ada.join()
        await grace.join()
        assert isinstance(chat.adapter, CanAnswerAlone)
        assert await chat.adapter.answer_alone(Address("web", "lobby", "m-1"), "web:ada", "You used **2** models.")
        assert await chat.adapter.answer_alone(LOBBY, "web:who-has-left", "Nobody reads this.")
        seen = await ada.until("alone")
        assert (seen["room"], seen["thread"], seen["text"]) == ("lobby", "m-1", "You used **2** models.")
        for page in (ada, grace):
            assert "alone" not in [frame["t"] for frame in await page.everything_so_far()]
        assert (await ada.join())["messages"] == []


async def test_a_command_is_seen_by_who_gives_it_alone_also_after_a_reload_and_in_a_search() -> None:
    async with (
        web_chat(begins=["book"]) as chat,
        page_socket(chat) as ada,
        page_socket(chat, GRACE) as grace,
        chat.adapter.connect() as said,
    ):
        for page in (ada, grace):
            await page.join()
        sent = await ada.say("/access approve SECRET42")
        got = await anext(said)
        assert (got.command, got.text, got.message_id, got.event_id) == ("access", "approve SECRET42", None, sent)
        await ada.say("/book SECRET42 for two", thread="m-1")  # said to a program, before everybody
        booked = await anext(said)
        assert (booked.command, booked.address.thread, bool(booked.message_id)) == ("book", "m-1", True)
        assert (await ada.until("taken"))["id"] == sent
        for page in (ada, grace):
            assert texts(await page.join()) == ["/book SECRET42 for two"]
            await page.send("search", room="lobby", words="SECRET42")
            assert texts(await page.until("found")) == ["/book SECRET42 for two"]


async def test_a_message_is_taken_only_when_the_consumer_asks_for_the_next() -> None:
    async with web_chat() as chat, page_socket(chat) as page, chat.adapter.connect() as said:
        await page.join()
        sent = await page.say("hello")
        await anext(said)
        before = [frame["t"] for frame in await page.everything_so_far()]
        assert "message" in before
        assert "taken" not in before
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_for_more, said)
            assert (await page.until("taken"))["id"] == sent
            tasks.cancel_scope.cancel()


async def test_what_waits_is_brought_together_and_taken_when_the_consumer_asks_for_more() -> None:
    async with web_chat() as chat, page_socket(chat) as page, chat.adapter.connect_together() as arrivals:
        await page.join()
        sent = [await page.say("one"), await page.say("two")]
        for _ in sent:
            await page.until("message")
        events = await anext(arrivals)
        assert [event.event_id for event in events] == sent
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_for_more, arrivals)
            assert [(await page.until("taken"))["id"] for _ in sent] == sent
            tasks.cancel_scope.cancel()


async def test_an_item_that_its_consumer_dropped_goes_to_the_next_one() -> None:
    async with web_chat() as chat, page_socket(chat) as page:
        await page.join()
        async with chat.adapter.connect() as said:
            await page.say("hello")
            first = await anext(said)
        async with chat.adapter.connect() as said:
            assert (await anext(said)).event_id == first.event_id


async def test_a_message_sent_again_after_a_reconnect_is_recognised() -> None:
    async with web_chat() as chat, chat.adapter.connect() as said:
        async with page_socket(chat) as page:
            await page.join()
            sent = await page.say("hello")
            await page.until("message")
        async with page_socket(chat) as page:
            await page.join()
            await page.say("hello", message_id=sent)
            assert [(await anext(said)).event_id, (await anext(said)).event_id] == [sent, sent]
        assert [message.text for message in await chat.store.history("lobby", limit=10)] == ["hello"]


async def test_nobody_can_speak_with_the_id_of_anothers_message() -> None:
    async with web_chat() as chat, page_socket(chat) as ada, page_socket(chat, GRACE) as grace:
        await ada.join()
        await grace.join()
        sent = await ada.say("I am Ada")
        await grace.until("message")
        await grace.say("so am I", message_id=sent)
        assert (await grace.until("refused", id=sent))["code"] == "conflict"


async def test_a_reconnect_brings_exactly_what_was_missed() -> None:
    async with web_chat() as chat:
        await chat.adapter.send(LOBBY, "one", speaker=GUIDE, nonce="n1", final=True)
        await chat.adapter.send(LOBBY, "tw", speaker=GUIDE, nonce="n2", final=False)
        async with page_socket(chat) as page:
            first = await page.join()
            assert (first["reset"], texts(first)) == (True, ["one", "tw"])
            known = max(message["version"] for message in first["messages"])
        await chat.adapter.edit(LOBBY, "n2", "two", speaker=GUIDE, nonce="n2", final=True)
        await chat.adapter.send(LOBBY, "three", speaker=GUIDE, nonce="n3", final=True)
        async with page_socket(chat) as page:
            second = await page.join(version=known)
            assert (second["reset"], texts(second)) == (False, ["two", "three"])
            known = max(message["version"] for message in second["messages"])
            again = await page.join(version=known)
            assert (again["reset"], texts(again)) == (False, [])


@pytest.mark.parametrize("known", [99, 1])
async def test_a_page_that_cannot_be_brought_up_to_date_starts_afresh(
    known: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "MAX_CHANGES", 2)
    async with web_chat() as chat, page_socket(chat) as page:
        for number in range(5):
            await chat.adapter.send(LOBBY, f"m{number}", speaker=GUIDE, nonce=f"n{number}", final=True)
        joined = await page.join(version=known)
        assert (joined["reset"], texts(joined)) == (True, ["m0", "m1", "m2", "m3", "m4"])


async def test_older_messages_come_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "PAGE_LENGTH", 2)
    async with web_chat() as chat, page_socket(chat) as page:
        for number in range(5):
            await chat.adapter.send(LOBBY, f"m{number}", speaker=GUIDE, nonce=f"n{number}", final=True)
        joined = await page.join()
        assert (texts(joined), joined["more"]) == (["m3", "m4"], True)
        await page.send("older", room="lobby", before=joined["messages"][0]["seq"])
        older = await page.until("older")
        assert (texts(older), older["more"]) == (["m1", "m2"], True)
        await page.send("older", room="lobby", before=older["messages"][0]["seq"])
        oldest = await page.until("older")
        assert (texts(oldest), oldest["more"]) == (["m0"], False)


async def test_growing_text_comes_as_its_differences_and_whole_to_who_joins_late() -> None:
    async with web_chat() as chat, page_socket(chat) as early, page_socket(chat, GRACE) as late:
        await early.join()
        await chat.adapter.send(LOBBY, "He", speaker=GUIDE, nonce="n1", final=False)
        await chat.adapter.edit(LOBBY, "n1", "Hello **wo**", speaker=GUIDE, nonce="n1", final=False)
        await chat.adapter.edit(LOBBY, "n1", "Hello **world**", speaker=GUIDE, nonce="n1", final=False)
        shown = (await late.join())["messages"][0]
        assert (shown["text"], shown["live"]) == ("Hello **world**", True)
        kept = (await chat.store.history("lobby", limit=1))[0]
        assert (kept.text, kept.final) == ("He", False)
        await chat.adapter.edit(LOBBY, "n1", "Hello **world** 🌍!", speaker=GUIDE, nonce="n1", final=True)
        message = await early.until("message")
        assert (message["message"]["text"], message["message"]["live"]) == ("He", True)
        grown = [await early.until("grow") for _ in range(3)]
        assert [frame["add"] for frame in grown] == ["llo **wo**", "rld**", " 🌍!"]
        assert [frame.get("cut") for frame in grown] == [None, 2, None]
        assert [("done" in frame) for frame in grown] == [False, False, True]
        assert (await late.until("grow"))["add"] == " 🌍!"
        kept = (await chat.store.history("lobby", limit=1))[0]
        assert (kept.text, kept.final, kept.version) == ("Hello **world** 🌍!", True, grown[2]["done"]["version"])


async def test_a_text_that_began_before_a_restart_goes_on_in_the_same_message() -> None:
    async with web_chat() as before:
        await before.adapter.send(LOBBY, "Once", speaker=GUIDE, nonce="n1", final=False)
        await before.adapter.edit(LOBBY, "n1", "Once upon", speaker=GUIDE, nonce="n1", final=False)
        store = before.store
    async with web_chat(store) as chat, page_socket(chat) as page:
        joined = await page.join()
        assert [(each["text"], each["live"]) for each in joined["messages"]] == [("Once", False)]
        await chat.adapter.send(LOBBY, "Once", speaker=GUIDE, nonce="n1", final=False)
        await chat.adapter.edit(LOBBY, "n1", "Once upon a time", speaker=GUIDE, nonce="n1", final=False)
        assert (await page.until("message"))["message"]["live"]
        assert (await page.until("grow"))["add"] == " upon a time"
        await chat.adapter.edit(LOBBY, "n1", "Once upon a time.", speaker=GUIDE, nonce="n1", final=True)
        assert [message.text for message in await store.history("lobby", limit=9)] == ["Once upon a time."]


async def test_a_resend_with_the_final_text_finishes_the_message() -> None:
    async with web_chat() as chat:
        await chat.adapter.send(LOBBY, "par", speaker=GUIDE, nonce="n1", final=False)
        await chat.adapter.send(LOBBY, "part and whole", speaker=GUIDE, nonce="n1", final=True)
        kept = await chat.store.history("lobby", limit=9)
        assert [(each.text, each.final) for each in kept] == [("part and whole", True)]


async def test_the_gateway_speaks_in_notices() -> None:
    async with web_chat() as chat, page_socket(chat) as page:
        await page.join()
        await chat.adapter.send(LOBBY, "A new session has begun.", speaker=GATEWAY, nonce="n1", final=True)
        assert (await page.until("message"))["message"]["kind"] == "notice"


async def test_an_edit_of_what_is_not_there_says_so() -> None:
    async with web_chat() as chat:
        with pytest.raises(MessageGone, match="nowhere"):
            await chat.adapter.edit(LOBBY, "nowhere", "text", speaker=GUIDE, nonce="nowhere", final=True)


async def test_two_people_see_the_same_order() -> None:
    async with web_chat() as chat, page_socket(chat) as ada, page_socket(chat, GRACE) as grace:
        await ada.join()
        await grace.join()

        async def chatter(page: PageSocket, name: str) -> None:
            for number in range(10):
                await page.say(f"{name} {number}")

        async def agent() -> None:
            for number in range(10):
                await chat.adapter.send(LOBBY, f"agent {number}", speaker=GUIDE, nonce=f"n{number}", final=True)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(chatter, ada, "ada")
            tasks.start_soon(chatter, grace, "grace")
            tasks.start_soon(agent)
        seen = [[(await page.until("message"))["message"]["text"] for _ in range(30)] for page in (ada, grace)]
        assert seen[0] == seen[1]
        assert [message.text for message in await chat.store.history("lobby", limit=99)] == seen[0]
