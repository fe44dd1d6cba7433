"""Pages of the browser chat over real WebSockets: rooms, people, limits, and frames that make no sense."""

from __future__ import annotations

from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from adapters.adapter import CanEndTyping
from adapters.web import hub, visit
from runtime.core.address import Address, Speaker
from runtime.core.errors import NotDelivered, OutcomeUncertain
from tests.fakes.pages.page_socket import ADA, GRACE, page_socket
from tests.fakes.pages.web_chat import web_chat

pytestmark = pytest.mark.anyio

LOBBY = Address("web", "lobby")
GUIDE = Speaker("1000", "Guide")


def texts(frame: dict[str, list[dict[str, str]]]) -> list[str]:
    return [message["text"] for message in frame["messages"]]


async def test_a_page_that_does_not_read_is_closed_and_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "MAX_WAITING_CHARACTERS", 500_000)
    async with web_chat() as chat, page_socket(chat, compression=None) as fast:
        await fast.join()
        async with page_socket(chat, GRACE, compression=None, max_queue=1, close_timeout=0.1) as slow:
            await slow.join()
            await fast.until("people", present=2)
            await chat.adapter.send(LOBBY, "0", speaker=GUIDE, nonce="n1", final=False)
            present = 2
            for number in range(400):
                text = str(number % 10) * 90_000
                await chat.adapter.edit(LOBBY, "n1", text, speaker=GUIDE, nonce="n1", final=False)
                while (frame := await fast.next())["t"] != "grow":
                    present = frame.get("present", present)
            if present == 2:
                await fast.until("people", present=1)
            assert (await slow.farewell())[0] in (0, 1013)


async def test_a_message_that_is_too_long_is_refused_with_its_reason() -> None:
    async with web_chat() as chat, page_socket(chat) as page:
        await page.join()
        sent = await page.say("x" * 300_000)
        refused = await page.until("refused", id=sent)
        assert refused["code"] == "too_long"
        assert refused["text"] == "This message has 300,000 characters; 100,000 is the most. Shorten or split it."
        longest = await page.say("ü" * 100_000)
        assert (await page.until("message"))["message"]["id"] == longest


async def test_who_says_too_much_is_asked_to_wait() -> None:
    async with web_chat() as chat, page_socket(chat, max_queue=None) as page:
        await page.join()
        for number in range(60):
            await page.say(f"m{number}")
        assert (await page.until("refused"))["code"] == "slow_down"


async def test_a_page_that_floods_is_closed() -> None:
    async with web_chat() as chat, page_socket(chat) as page:
        with suppress(ConnectionClosed):
            for _ in range(2000):
                await page.send("ping")
        assert await page.farewell() == (1008, "too many requests")


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ("nonsense", "not JSON"),
        ("[" * 100_000, "frame"),
        ("[]", "must be a JSON object"),
        ('{"t": "sing"}', "unknown frame type 'sing'"),
        ('{"t": "join"}', "'room' must be a string"),
        ('{"t": "join", "room": "No Such"}', "The address of a room has small letters"),
        ('{"t": "join", "room": "nowhere"}', "no room 'nowhere'"),
        ('{"t": "join", "room": "lobby", "version": -1}', "'version' must be a whole number"),
        ('{"t": "say", "id": "1", "room": "lobby", "text": "x"}', "'id' must be a UUID"),
        ('{"t": "typing", "room": "lobby", "thread": "a b"}', "'thread' is not the id"),
        ('{"t": "open", "name": "\\ud800"}', "half a character"),
        ('{"t": "open", "name": "!!"}', "needs letters or digits"),
    ],
)
async def test_a_frame_that_makes_no_sense_is_answered_and_harms_nothing(frame: str, reason: str) -> None:
    async with web_chat() as chat, page_socket(chat) as page:
        await page.until("welcome")
        await page.socket.send(frame)
        kind = "absent" if "no room" in reason else "error"
        assert reason in (await page.until(kind))["text"]
        await page.join()


async def test_rooms_are_opened_by_name_and_their_activity_is_told_to_those_elsewhere() -> None:
    async with web_chat() as chat, page_socket(chat) as ada, page_socket(chat, GRACE) as grace:
        await ada.join()
        await grace.join()
        await ada.send("open", name="Tax & Ideas")
        assert (await ada.until("opened"))["room"] == "tax-ideas"
        await ada.join("tax-ideas")
        assert (await grace.until("activity"))["rooms"] == [{"id": "tax-ideas", "seq": 1}]
        await ada.say("anybody here?", room="tax-ideas")
        assert (await grace.until("activity"))["rooms"] == [{"id": "tax-ideas", "seq": 2}]
        await grace.send("open", name="tax ideas")
        assert texts(await grace.join("tax-ideas")) == ["Ada opened this room.", "anybody here?"]


async def test_one_person_cannot_take_all_rooms_and_archived_ones_take_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(visit, "MAX_ROOMS", 6)
    monkeypatch.setattr(visit, "MAX_ROOMS_OF_ONE", 3)
    async with web_chat() as chat, page_socket(chat) as ada, page_socket(chat, GRACE) as grace:
        await ada.join()
        await grace.join()
        for name in ("a1", "a2", "a3"):
            await ada.send("open", name=name)
            await ada.until("opened", room=name)
        await ada.send("open", name="a4")
        assert "You have made 3 rooms" in (await ada.until("error"))["text"]
        await grace.send("open", name="g1")
        await grace.until("opened", room="g1")
        await ada.send("archive", room="a1", archived=True)
        await ada.send("open", name="a4")
        await ada.until("opened", room="a4")


async def test_people_see_who_is_here_and_who_is_typing() -> None:
    async with web_chat() as chat, page_socket(chat) as ada:
        await ada.join()
        async with page_socket(chat, GRACE) as grace:
            assert [each["name"] for each in (await grace.join())["people"]] == ["Ada", "Grace"]
            assert [each["name"] for each in (await ada.until("people", present=2))["people"]] == ["Ada", "Grace"]
            await grace.send("typing", room="lobby", thread=None)
            assert (await ada.until("typing"))["name"] == "Grace"
            await chat.adapter.typing(LOBBY, GUIDE)
            assert (await ada.until("typing"))["kind"] == "agent"
            await ada.send("typing", room="lobby", thread=None)
            assert [f["by"] for f in [await grace.until("typing"), await grace.until("typing")]] == ["1000", ADA.id]
            assert isinstance(chat.adapter, CanEndTyping)
            await chat.adapter.end_typing(LOBBY, GUIDE)
            ended = await grace.until("typing")
            assert (ended["by"], ended["thread"], ended["ended"]) == ("1000", None, True)
        assert [each["name"] for each in (await ada.until("people", present=1))["people"]] == ["Ada"]


async def test_the_chat_outlives_its_store() -> None:
    async with web_chat() as chat, page_socket(chat) as page:
        await page.join()
        chat.store.away = True
        sent = await page.say("hello")
        assert (await page.until("refused", id=sent))["code"] == "busy"
        with pytest.raises(OutcomeUncertain):
            await chat.adapter.send(LOBBY, "one", speaker=GUIDE, nonce="n1", final=True)
        with pytest.raises(OutcomeUncertain):
            await chat.adapter.edit(LOBBY, "n1", "one", speaker=GUIDE, nonce="n1", final=True)
        with pytest.raises(NotDelivered):
            await chat.adapter.check()
        await page.send("join", room="lobby")
        assert (await page.farewell())[0] == 1013
        chat.store.away = False
        async with page_socket(chat) as again:
            await again.join()
            await again.say("hello", message_id=sent)
            assert (await again.until("message"))["message"]["text"] == "hello"


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:1", "null", None])
async def test_a_foreign_page_cannot_open_the_chat(origin: str | None) -> None:
    async with web_chat() as chat:
        with pytest.raises(InvalidStatus) as refused:
            async with page_socket(chat, origin=origin):
                pass
        assert refused.value.response.status_code == 403


async def test_who_opens_too_many_pages_is_told_so_and_the_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "MAX_PAGES_A_PERSON", 1)
    async with web_chat() as chat, page_socket(chat) as first:
        await first.join()
        async with page_socket(chat) as second, page_socket(chat, GRACE) as another:
            assert await second.farewell() == (4429, "You have this chat open in 1 pages already. Close one of them.")
            await another.join()
        await first.say("still here")
        assert (await first.until("message"))["message"]["text"] == "still here"


async def test_a_slow_page_that_was_cut_off_comes_back_and_misses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "MAX_WAITING_CHARACTERS", 300_000)
    async with web_chat() as chat, page_socket(chat) as fast:
        await fast.join()
        async with page_socket(chat, GRACE, max_queue=1, close_timeout=0.1) as slow:
            joined = await slow.join()
            assert joined["messages"] == []
            await fast.until("people", present=2)
            said = 0
            while chat.adapter.pages > 1:
                said += 1
                await chat.adapter.send(LOBBY, f"{said} " + "x" * 90_000, speaker=GUIDE, nonce=f"n{said}", final=True)
                await fast.until("message")
            seen = 0
            with suppress(ConnectionClosed):
                while True:
                    frame = await slow.next()
                    seen = frame["message"]["version"] if frame["t"] == "message" else seen
        assert 0 < seen < said
        async with page_socket(chat, GRACE) as again:
            back = await again.join(version=seen)
        assert not back["reset"]
        assert [text.split()[0] for text in texts(back)] == [str(number) for number in range(seen + 1, said + 1)]
