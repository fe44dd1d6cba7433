"""Notifications from a message to a push service on this machine."""

from __future__ import annotations

import httpx
import pytest

from adapters.web.codec import Presence, WebVisitor
from gateway.features.pushes.subscriptions import MAX_BROWSERS, Subscription, Subscriptions
from runtime.core.address import Address, Speaker
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.pages.page_socket import ADA, GRACE, page_socket
from tests.fakes.pages.push_service import PushedBrowser, claims
from tests.fakes.pages.pushing_chat import pushing

pytestmark = pytest.mark.anyio

LOBBY = Address("web", "lobby")
GUIDE = Speaker("1000", "Guide")


async def test_who_is_mentioned_and_not_looking_is_told_with_the_text() -> None:
    async with pushing() as stand, page_socket(stand.chat) as ada:
        grace = PushedBrowser()
        assert await stand.subscribe("g", grace) == 204
        await ada.join()
        await ada.say("Nobody in particular")
        said = await ada.say("Look, @grace!")
        await stand.service.until(1)
        assert stand.service.said("g", grace) == [
            {"room": "lobby", "title": "lobby", "id": said, "name": "Ada", "text": "Look, @grace!"}
        ]
        _, headers, _ = stand.service.posts[0]
        async with stand.client() as http:
            key = (await http.get("/push")).json()["key"]
        claimed = claims(headers["authorization"])
        assert (claimed["aud"], claimed["key"]) == (stand.service.url, key)
        assert (headers["content-encoding"], headers["ttl"]) == ("aes128gcm", "86400")


async def test_a_link_tells_whom_it_means_and_nobody_else_of_the_same_name() -> None:
    async with pushing() as stand, page_socket(stand.chat) as ada:
        grace = PushedBrowser()
        await stand.subscribe("g", grace)
        await ada.join()
        await ada.say("[@Grace](person:web:another) lunch?")
        said = await ada.say(f"[@Grace](person:{GRACE.id}) dinner?")
        await stand.service.until(1)
        assert [each["id"] for each in stand.service.said("g", grace)] == [said]


async def test_each_room_tells_of_what_its_person_chose_and_shows_what_they_want() -> None:
    async with pushing() as stand, page_socket(stand.chat) as ada:
        grace = PushedBrowser()
        await stand.subscribe("g", grace)
        await ada.join()
        await stand.choose("all")
        await ada.say("one")
        await stand.service.until(1)
        await stand.choose("nothing")
        await ada.say("two, @Grace")
        async with stand.client() as http:
            assert (await http.post("/push/show", json={"shows": "no"})).status_code == 204
            assert (await http.get("/push")).json()["choices"] == {"lobby": "nothing"}
            no_id = {"room": "No Room", "choice": "all"}
            for wrong in ({"room": "lobby", "choice": "loud"}, {"room": "", "choice": "all"}, no_id, {}):
                assert (await http.post("/push/choose", json=wrong)).status_code == 400
        await stand.choose("mentions")
        said = await ada.say("three, @Grace")
        await stand.service.until(2)
        assert [each.get("text") for each in stand.service.said("g", grace)] == ["one", None]
        assert stand.service.said("g", grace)[1] == {"room": "lobby", "title": "lobby", "id": said}


async def test_who_looks_who_wrote_and_who_may_not_see_the_room_are_not_told() -> None:
    async with pushing() as stand, page_socket(stand.chat) as ada:
        for person in (ADA, GRACE):
            await stand.subscribe(person.name, PushedBrowser(), person)
            async with stand.client(person) as http:
                await http.post("/push/choose", json={"room": "lobby", "choice": "all"})
        await ada.send("private", name="Wedding")
        room = (await ada.until("opened"))["room"]
        await stand.choose("all", room)
        await ada.join(room)
        await ada.say("@Grace must not hear of it", room=room)
        await ada.join()
        async with page_socket(stand.chat, GRACE) as grace:
            await grace.join()
            await ada.say("You see it")
            await grace.until("message")
        await ada.until("people", present=1)
        await ada.say("You are away")
        assert await stand.service.until(1) == ["Grace"]


async def test_an_address_that_cannot_be_asked_does_not_keep_others_from_being_told() -> None:
    async with pushing() as stand, page_socket(stand.chat) as ada:
        kept = Subscription(stand.service.endpoint("odd") + "\x00", PushedBrowser().p256dh, PushedBrowser().auth)
        await stand.subscriptions.subscribe("web:odd", "Odd", kept)
        await stand.subscriptions.choose("web:odd", "lobby", "all")
        await stand.subscribe("g", PushedBrowser())
        await stand.choose("all")
        await ada.join()
        await ada.say("one")
        await stand.service.until(1)
        await ada.say("two")
        assert await stand.service.until(2) == ["g", "g"]


async def test_an_agents_answer_is_told_when_it_is_finished() -> None:
    async with pushing() as stand:
        grace = PushedBrowser()
        await stand.subscribe("g", grace)
        await stand.choose("all")
        await stand.chat.adapter.send(LOBBY, "It is", speaker=GUIDE, nonce="n1", final=False)
        await stand.chat.adapter.edit(LOBBY, "n1", "It is Sunday", speaker=GUIDE, nonce="n1", final=True)
        await stand.chat.adapter.send(LOBBY, "x" * 9_000, speaker=GUIDE, nonce="n2", final=True)
        await stand.service.until(2)
        texts = [each["text"] for each in stand.service.said("g", grace)]
        assert texts == ["It is Sunday", "x" * 299 + "…"]


@pytest.mark.parametrize("status", [404, 410])
async def test_a_browser_that_is_gone_is_forgotten_and_the_others_are_told(status: int) -> None:
    async with pushing() as stand, page_socket(stand.chat) as ada:
        for name in ("gone", "stays", "fails", "moved"):
            await stand.subscribe(name, PushedBrowser())
        stand.service.statuses |= {"gone": status, "fails": 500, "moved": 302}
        await ada.join()
        await ada.say("@Grace one")
        await stand.service.until(4)
        await ada.say("@Grace two")
        told = await stand.service.until(7)
        assert told == ["fails", "fails", "gone", "moved", "moved", "stays", "stays"]


async def test_who_is_logged_out_is_not_told() -> None:
    async with pushing() as stand, page_socket(stand.chat) as ada:
        await stand.subscribe("g", PushedBrowser())
        await stand.subscribe("e", PushedBrowser(), WebVisitor("web:eve", "Eve"))
        stand.out.add(GRACE.id)
        await ada.join()
        await ada.say("@Grace @Eve")
        await ada.say("@Grace @Eve, again")
        assert await stand.service.until(2) == ["e", "e"]
        assert (await stand.subscriptions.of(GRACE.id)).browsers == ()


async def test_who_looks_at_the_room_on_another_node_is_not_told() -> None:
    async with pushing() as stand, page_socket(stand.chat) as ada:
        board = stand.chat.adapter.board
        for person in (GRACE, WebVisitor("web:eve", "Eve")):
            await stand.subscribe(person.name, PushedBrowser(), person)
        await ada.join()
        board.people_elsewhere("other", "lobby", Presence((GRACE,), 1))
        await ada.until("people", present=2)
        await ada.say("@Grace sees it, @Eve does not")
        assert await stand.service.until(1) == ["Eve"]
        board.people_elsewhere("other", "lobby", Presence((), 0))
        await ada.say("@Grace is away")
        assert await stand.service.until(2) == ["Eve", "Grace"]


async def test_a_browser_that_somebody_else_uses_now_tells_nothing_of_who_was_there_before() -> None:
    async with pushing() as stand, page_socket(stand.chat) as ada:
        shared = PushedBrowser()
        await stand.subscribe("shared", shared, GRACE)
        await stand.subscribe("shared", shared, WebVisitor("web:eve", "Eve"))
        await ada.join()
        await ada.say("For @Grace alone")
        await ada.say("And @Eve")
        await stand.service.until(1)
        assert [each["text"] for each in stand.service.said("shared", shared)] == ["And @Eve"]


async def test_addresses_that_are_no_push_services_and_strangers_are_refused() -> None:
    async with pushing() as stand:
        browser = PushedBrowser()
        form = {"endpoint": "https://169.254.169.254/x", "p256dh": browser.p256dh, "auth": browser.auth}
        async with stand.client() as http:
            assert (await http.post("/push/subscribe", json=form)).status_code == 422
            bad = {**form, "endpoint": stand.service.endpoint("g"), "auth": "x"}
            assert (await http.post("/push/subscribe", json=bad)).status_code == 400
            foreign = {"Origin": "http://evil.example"}
            assert (await http.post("/push/choose", json={}, headers=foreign)).status_code == 403
            http.cookies.clear()
        async with httpx.AsyncClient(base_url=stand.chat.url, trust_env=False) as stranger:
            assert (await stranger.get("/push")).status_code == 401
            assert (await stranger.post("/push/subscribe", json=form)).status_code == 401
            worker = await stranger.get("/worker.js")
            assert worker.headers["content-type"].startswith("text/javascript")


async def test_the_key_is_made_once_and_browsers_are_bounded() -> None:
    records = MemoryRecords()
    keys = {(await Subscriptions(records, FakeClock()).key()).public for _ in range(3)}
    assert len(keys) == 1
    subscriptions, browser = Subscriptions(records, FakeClock(), lambda _: True), PushedBrowser()
    for number in range(MAX_BROWSERS + 2):
        await subscriptions.subscribe("web:g", "G", Subscription(f"e{number}", browser.p256dh, browser.auth))
    kept = (await subscriptions.of("web:g")).browsers
    assert [one.endpoint for one in kept] == [f"e{number}" for number in range(2, MAX_BROWSERS + 2)]
