"""What people do to messages in the browser chat, over real WebSockets, and what the adapter shows them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from adapters.adapter import (
    CanDelete,
    CanDownload,
    CanOffer,
    CanReact,
    CanUpload,
    FileData,
    Inbound,
)
from adapters.web.adapter import WebAdapter
from runtime.core.address import Address, Speaker
from runtime.core.clock import SystemClock
from runtime.core.errors import MessageGone, NotDelivered, OutcomeUncertain
from runtime.core.files import MAX_FILE_BYTES, FileBounds, file_id
from runtime.core.message import Choice
from runtime.core.quote import Quote
from tests.fakes.memory.rooms import memory_tables
from tests.fakes.pages.page_socket import ADA, GRACE, PageSocket, page_socket
from tests.fakes.pages.web_chat import WebChat, web_chat

pytestmark = pytest.mark.anyio

LOBBY = Address("web", "lobby")
GUIDE = Speaker("1000", "Guide")
CHOICES = (Choice("y", "Yes"), Choice("n", "No"))


@dataclass
class Scene:
    """Two people in the lobby, and somebody who listens."""

    chat: WebChat
    ada: PageSocket
    grace: PageSocket
    said: Any

    async def heard(self) -> Inbound:
        item: Inbound = await anext(self.said)
        return item

    async def shown(self, message: str) -> dict[str, Any]:
        """The message as Grace is shown it next."""
        while (frame := await self.grace.until("message"))["message"]["id"] != message:
            pass
        found: dict[str, Any] = frame["message"]
        return found


@asynccontextmanager
async def lobby() -> AsyncGenerator[Scene]:
    async with (
        web_chat() as chat,
        chat.adapter.connect() as said,
        page_socket(chat) as ada,
        page_socket(chat, GRACE, language="de-AT,de;q=0.9") as grace,
    ):
        await ada.join()
        await grace.join()
        yield Scene(chat, ada, grace, said)


async def test_the_adapter_can_all_there_is_and_says_so() -> None:
    async with web_chat() as chat:
        adapter, able = chat.adapter, chat.adapter.capabilities
        for kind in (CanDelete, CanDownload, CanOffer, CanReact, CanUpload):
            assert isinstance(adapter, kind)
        assert (able.deletes, able.quotes, able.reactions, able.status_text) == (True, True, True, True)
        assert able.max_choices > 1
        assert able.max_file_bytes == MAX_FILE_BYTES
        assert WebAdapter(memory_tables(chat.store), SystemClock()).capabilities.max_file_bytes == 0


async def test_the_menu_and_the_marks_come_with_the_welcome() -> None:
    async with web_chat() as chat, page_socket(chat) as page:
        welcome = await page.until("welcome")
        assert {"name": "stop", "about": "stop what is running"} in welcome["commands"]
        assert "👍" in welcome["marks"]
        assert welcome["max_file_bytes"] == MAX_FILE_BYTES


async def test_an_edit_is_told_once_for_each_new_text() -> None:
    async with lobby() as scene:
        sent = await scene.ada.say("Helo", thread="m-1")
        assert (await scene.heard()).message_id == sent
        await scene.ada.send("change", id=sent, room="lobby", text="Hello")
        await scene.ada.send("change", id=sent, room="lobby", text="Hello")
        await scene.ada.send("change", id=sent, room="lobby", text="Hello!")
        first, second = await scene.heard(), await scene.heard()
        assert [(each.act, each.text, each.message_id) for each in (first, second)] == [
            ("edit", "Hello", sent),
            ("edit", "Hello!", sent),
        ]
        assert first.event_id != second.event_id
        assert first.address == Address("web", "lobby", "m-1")
        await scene.shown(sent)
        changed = await scene.shown(sent)
        assert (changed["text"], changed["edited"]) == ("Hello", True)


async def test_a_deletion_leaves_nothing_of_a_message_but_its_place() -> None:
    async with lobby() as scene:
        sent = await scene.ada.say("a secret")
        await scene.heard()
        await scene.ada.send("take_back", id=sent, room="lobby")
        gone = await scene.heard()
        assert (gone.act, gone.text, gone.message_id) == ("deletion", "", sent)
        await scene.shown(sent)
        shown = await scene.shown(sent)
        assert (shown["text"], shown["deleted"]) == ("", True)
        for frame in ({"t": "change", "text": "back"}, {"t": "react", "mark": "👍"}, {"t": "take_back"}):
            await scene.ada.send(frame.pop("t"), id=sent, room="lobby", **frame)
            assert "no longer exists" in (await scene.ada.until("error"))["text"]
        with pytest.raises(MessageGone):
            await scene.chat.adapter.offer(LOBBY, sent, "x", CHOICES, speaker=GUIDE, nonce=sent)


async def test_nobody_changes_what_another_said() -> None:
    async with lobby() as scene:
        sent = await scene.ada.say("I am Ada")
        await scene.shown(sent)
        await scene.chat.adapter.send(LOBBY, "I am Guide", speaker=GUIDE, nonce="n1", final=True)
        for message in (sent, "n1"):
            for frame in ({"t": "change", "text": "no"}, {"t": "take_back"}):
                await scene.grace.send(frame.pop("t"), id=message, room="lobby", **frame)
                assert "Only the author" in (await scene.grace.until("error"))["text"]
        assert [each.text for each in await scene.chat.store.history("lobby", limit=9)] == ["I am Ada", "I am Guide"]


async def test_a_reaction_is_told_and_shown_with_who_gave_it() -> None:
    async with lobby() as scene:
        await scene.chat.adapter.send(LOBBY, "Good news", speaker=GUIDE, nonce="n1", final=True)
        await scene.ada.send("react", id="n1", room="lobby", mark="🎉")
        await scene.ada.send("react", id="n1", room="lobby", mark="🎉")
        await scene.ada.send("react", id="n1", room="lobby", mark="")
        heard = [await scene.heard(), await scene.heard()]
        assert [(each.act, each.text, each.message_id) for each in heard] == [
            ("reaction", "🎉", "n1"),
            ("reaction", "", "n1"),
        ]
        await scene.shown("n1")
        assert (await scene.shown("n1"))["reactions"] == [{"mark": "🎉", "by": [{"id": ADA.id, "name": "Ada"}]}]
        assert "reactions" not in await scene.shown("n1")
        await scene.ada.send("react", id="n1", room="lobby", mark="<script>")
        assert "not available" in (await scene.ada.until("error"))["text"]


async def test_a_press_is_heard_and_one_that_is_no_choice_any_more_is_not() -> None:
    async with lobby() as scene:
        adapter = scene.chat.adapter
        await adapter.send(LOBBY, "Shall I", speaker=GUIDE, nonce="q", final=False)
        await adapter.offer(LOBBY, "q", "Shall I?", CHOICES, speaker=GUIDE, nonce="q")
        await adapter.offer(LOBBY, "q", "Shall I?", CHOICES, speaker=GUIDE, nonce="q")
        await scene.ada.send("press", id="q", room="lobby", choice="y")
        await scene.ada.send("press", id="q", room="lobby", choice="y")
        first, again = await scene.heard(), await scene.heard()
        assert (first.act, first.choice, first.text, first.message_id) == ("choice", "y", "Yes", "q")
        assert again.event_id == first.event_id
        await scene.shown("q")
        assert (await scene.shown("q"))["choices"] == [{"id": "y", "label": "Yes"}, {"id": "n", "label": "No"}]
        await adapter.offer(LOBBY, "q", "Shall I?", (), speaker=GUIDE, nonce="q")
        await scene.ada.send("press", id="q", room="lobby", choice="n")
        assert "answered already" in (await scene.ada.until("error"))["text"]
        (kept,) = await scene.chat.store.history("lobby", limit=9)
        assert (kept.text, kept.final, kept.choices) == ("Shall I?", True, ())


async def test_a_reply_to_a_message_with_a_file_comes_with_the_file() -> None:
    async with lobby() as scene:
        kept = await scene.chat.files.keep(b"a,b", "text/csv")
        sent = await scene.ada.say("the numbers", files=[{"id": kept, "name": "a.csv"}])
        await scene.heard()
        await scene.ada.say("what is this?", reply_to=sent)
        heard = await scene.heard()
    assert heard.quote == Quote(sent, "Ada", "the numbers", files=("a.csv",), person=ADA.id)
    assert [(file.name, file.url, file.quoted) for file in heard.attachments] == [("a.csv", f"file:{kept}", True)]


async def test_a_reply_carries_a_short_quote_both_ways() -> None:
    async with lobby() as scene:
        adapter = scene.chat.adapter
        text = f"[@Ada](person:{ADA.id}), what\nis {'very ' * 100}new?"
        await adapter.send(LOBBY, text, speaker=GUIDE, nonce="n1", final=True)
        sent = await scene.ada.say("nothing", reply_to="n1")
        quote = (await scene.heard()).quote
        assert quote is not None
        assert (quote.message_id, quote.author) == ("n1", "Guide")
        assert quote.text == f"@Ada, what\nis {'very ' * 100}new?"
        shown = (await scene.chat.store.history("lobby", limit=1))[-1].quote
        assert shown is not None
        assert (shown.text[:23], len(shown.text) <= 200) == ("@Ada, what is very very", True)
        await scene.ada.say("to nobody", reply_to="no-such-message")
        assert (await scene.heard()).quote is None
        await adapter.send(LOBBY, "well", speaker=GUIDE, nonce="n2", final=True, reply_to=sent)
        await adapter.send(LOBBY, "so", speaker=GUIDE, nonce="n3", final=True, reply_to="gone")
        kept = await scene.chat.store.history("lobby", limit=2)
        assert [each.quote for each in kept] == [Quote(sent, "Ada", "nothing", person=ADA.id), None]


async def test_a_file_goes_with_a_message_when_it_was_posted() -> None:
    async with lobby() as scene:
        kept = await scene.chat.files.keep(b"a,b", "text/csv")
        await scene.ada.say("", files=[{"id": kept, "name": "../../etc/a\u202e.csv"}])
        (attachment,) = (await scene.heard()).attachments
        assert (attachment.name, attachment.media_type, attachment.size_bytes) == ("a.csv", "text/csv", 3)
        assert await scene.chat.adapter.download(attachment.url, max_bytes=3) == b"a,b"
        with pytest.raises(NotDelivered):
            await scene.chat.adapter.download(attachment.url, max_bytes=2)
        sent = await scene.ada.say("lost", files=[{"id": "0" * 64, "name": "b.csv"}])
        refused = await scene.ada.until("refused", id=sent)
        assert (refused["code"], "b.csv no longer exists" in refused["text"]) == ("invalid", True)


async def test_a_file_beside_a_command_is_posted_with_it_and_a_command_alone_is_not() -> None:
    async with lobby() as scene:
        await scene.ada.say("/status")
        assert (await scene.heard()).command == "status"
        assert await scene.chat.store.history("lobby", limit=9) == []
        kept = await scene.chat.files.keep(b"a,b", "text/csv")
        await scene.ada.say("/status", files=[{"id": kept, "name": "a.csv"}])
        heard = await scene.heard()
        assert (heard.command, [file.name for file in heard.attachments]) == ("status", ["a.csv"])
        [posted] = await scene.chat.store.history("lobby", limit=9)
        assert (posted.text, [file.name for file in posted.files]) == ("/status", ["a.csv"])


async def test_a_file_that_went_with_a_message_outlasts_later_uploads() -> None:
    async with lobby() as scene:
        files = scene.chat.files
        files.bounds = FileBounds(total_bytes=10, person_bytes=6, conversation_bytes=6)
        kept = await files.keep(b"a,b", "text/csv", person=ADA.id)
        await scene.ada.say("", files=[{"id": kept, "name": "a.csv"}])
        await scene.heard()
        for number in range(5):
            await files.keep(bytes([number]) * 3, "text/csv", person=ADA.id)
            await files.keep(bytes([number]) * 3, "text/csv", person="web:eve")
        assert await files.content(kept) is not None


async def test_an_agents_file_is_a_message_with_it() -> None:
    async with lobby() as scene:
        file = FileData("../result.csv", "text/csv", b"a,b")
        for _ in range(2):
            await scene.chat.adapter.upload(LOBBY, file, "Here.", speaker=GUIDE, nonce="n1", reply_to=None)
        shown = await scene.shown("n1")
        id_ = file_id(b"a,b", "text/csv")
        assert shown["files"] == [{"id": id_, "name": "result.csv", "type": "text/csv", "size": 3}]
        assert len(await scene.chat.store.history("lobby", limit=9)) == 1
        large = FileData("a", "text/plain", b"x" * (MAX_FILE_BYTES + 1))
        with pytest.raises(NotDelivered, match="at most"):
            await scene.chat.adapter.upload(LOBBY, large, "", speaker=GUIDE, nonce="n2")


async def test_our_marks_and_deletions_are_shown_and_harmless_where_the_message_is_gone() -> None:
    async with lobby() as scene:
        adapter = scene.chat.adapter
        await adapter.send(LOBBY, "wrong", speaker=GUIDE, nonce="n1", final=False)
        await adapter.react(LOBBY, "n1", "queued")
        await adapter.react(LOBBY, "n1", "seen")
        await scene.shown("n1")
        await scene.shown("n1")
        assert (await scene.shown("n1"))["reactions"] == [{"mark": "👀", "by": [{"id": "parley", "name": "Parley"}]}]
        for _ in range(2):
            await adapter.delete(LOBBY, "n1", speaker=GUIDE)
        assert (await scene.shown("n1"))["deleted"]
        for message in ("n1", "nowhere"):
            await adapter.react(LOBBY, message, "seen")
            await adapter.delete(LOBBY, message, speaker=GUIDE)


async def test_stop_is_heard_as_a_command_of_its_place_and_not_shown() -> None:
    async with lobby() as scene:
        await scene.ada.send("stop", room="lobby", thread="m-1")
        await scene.ada.send("stop", room="lobby", thread=None)
        first, second = await scene.heard(), await scene.heard()
        assert (first.command, first.address) == ("stop", Address("web", "lobby", "m-1"))
        assert (second.command, second.address) == ("stop", LOBBY)
        assert first.event_id != second.event_id
        assert await scene.chat.store.history("lobby", limit=9) == []
        await scene.ada.send("stop", room="nowhere", thread=None)
        assert "no room 'nowhere'" in (await scene.ada.until("error"))["text"]


async def test_what_an_agent_does_is_said_beside_the_typing_sign() -> None:
    async with lobby() as scene:
        await scene.chat.adapter.typing(LOBBY, GUIDE, doing="looking up tax codes")
        assert (await scene.ada.until("typing"))["doing"] == "looking up tax codes"


async def test_the_browsers_language_comes_with_what_is_said() -> None:
    async with lobby() as scene:
        await scene.grace.say("Grüß Gott")
        await scene.ada.say("hello")
        assert [(await scene.heard()).language for _ in range(2)] == ["de-AT", None]


async def test_acts_fail_openly_while_the_store_is_away() -> None:
    async with lobby() as scene:
        sent = await scene.ada.say("hello")
        await scene.heard()
        scene.chat.store.away = True
        for call in (
            scene.chat.adapter.react(LOBBY, sent, "seen"),
            scene.chat.adapter.delete(LOBBY, sent, speaker=GUIDE),
            scene.chat.adapter.offer(LOBBY, sent, "hello", CHOICES, speaker=GUIDE, nonce="n"),
            scene.chat.adapter.upload(LOBBY, FileData("a", "text/plain", b""), "", speaker=GUIDE, nonce="n"),
        ):
            with pytest.raises(OutcomeUncertain):
                await call
        await scene.ada.send("take_back", id=sent, room="lobby")
        assert (await scene.ada.farewell())[0] == 1013


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ({"t": "change", "id": "a b", "text": "x"}, "'id' is not the id of a message"),
        ({"t": "change", "id": "a", "text": 1}, "'text' must be a string"),
        ({"t": "react", "id": "a", "mark": None}, "'mark' must be a string"),
        ({"t": "press", "id": "a"}, "'choice' must be a string"),
        ({"t": "press", "id": "a", "choice": "y"}, "no longer exists"),
        ({"t": "say", "id": "00000000-0000-0000-0000-000000000000", "text": "", "files": "all"}, "'files' must be"),
        ({"t": "say", "id": "00000000-0000-0000-0000-000000000000", "text": "", "files": [{}] * 11}, "'files' must be"),
        (
            {"t": "say", "id": "00000000-0000-0000-0000-000000000000", "text": "", "files": [{"id": "x", "name": "y"}]},
            "the 'id' of a file",
        ),
    ],
)
async def test_an_act_that_makes_no_sense_is_answered_and_harms_nothing(frame: dict[str, Any], reason: str) -> None:
    async with lobby() as scene:
        await scene.ada.send(frame.pop("t"), room="lobby", **frame)
        assert reason in (await scene.ada.until("error"))["text"]
        await scene.ada.join()
