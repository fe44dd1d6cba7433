"""What a platform has stored badly ends nobody's start: it is left out, and the rest is there."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from adapters.discord.inbound.intake import DiscordCatchUp
from adapters.discord.outbound.webhooks import UnconfirmedPosts
from adapters.pages.signs import Note, StatusMessages
from adapters.slack.api.workspaces import SlackInstallations
from adapters.telegram.chat_state import ChatState
from adapters.web.charters import RoomCharters, ShownFiles
from runtime.core.address import Address, Speaker
from runtime.core.clock import SystemClock
from tests.fakes.observing.records import MemoryRecords

pytestmark = pytest.mark.anyio

BAD = ["", "[]", "[[]]", "{}", "null", "1e999", '"text"', "{not json", '{"token": 1, "address": []}']


def with_good(good: Mapping[str, str], name: str, bad: str) -> MemoryRecords:
    return MemoryRecords({name: bad, **good})


@pytest.mark.parametrize("bad", BAD)
async def test_discord_catches_up_from_the_marks_that_it_can_read(bad: str) -> None:
    unused = None
    catch_up = DiscordCatchUp(unused, with_good({"7": "1000"}, "8", bad), unused)  # type: ignore[arg-type]
    await catch_up.load(0)
    await catch_up.taken("7", "1001")
    assert catch_up._newest_mark() == "1001"


@pytest.mark.parametrize("bad", BAD)
async def test_discord_looks_for_the_posts_in_doubt_that_it_can_read(bad: str) -> None:
    good = json.dumps(["Host", str(1 << 62), "digest"])
    posts = UnconfirmedPosts(with_good({"a.0": good}, "b.0", bad), SystemClock())
    posts.doubt("c.0")
    assert (await posts.of("a.0"), await posts.of("b.0"), await posts.of("c.0"))[1:] == (None, None)
    assert await posts.of("a.0") is not None


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", ["moved:-5", "moved:x", "topic:x", "topic:-5#y", "else"])
async def test_telegram_knows_the_chats_that_it_can_read(name: str, bad: str) -> None:
    state = ChatState(with_good({"moved:-1": "-1001", "topic:-1#4": "2026-01-01"}, name, bad), SystemClock())
    await state.load()
    await state.forget_topics(-9)
    assert (state.current(-1), state.home(-1001), state.lives_in(-1, 4)) == (-1001, -1, True)


@pytest.mark.parametrize("bad", BAD)
async def test_slack_knows_the_workspaces_that_it_can_read(bad: str) -> None:
    installed = SlackInstallations(with_good({"T1": json.dumps({"team": "Acme", "token": "xoxb-1"})}, "T2", bad))
    assert (await installed.token_of("T1"), await installed.names()) == ("xoxb-1", ["Acme"])
    assert await installed.token_of("T2") in (None, "1")


@pytest.mark.parametrize("bad", BAD)
async def test_status_messages_that_can_be_read_are_removed(bad: str) -> None:
    records = MemoryRecords({"node/x": bad})
    messages, note = StatusMessages(records, "node"), Note(Address("fake", "1"), Speaker("1000", "Host"), "5")
    await messages.keep(note)
    assert list(await messages.left()) == [note]


@pytest.mark.parametrize("bad", [bad for bad in BAD if bad != "{}"])
async def test_a_room_whose_charter_cannot_be_read_is_closed_and_the_others_are_as_they_were(bad: str) -> None:
    records = with_good({"lounge": json.dumps({"title": "Lounge"})}, "den", bad)
    charters = RoomCharters(records)
    known = await charters.all()
    assert (known["lounge"].title, known["lounge"].admits("web:ada")) == ("Lounge", True)
    assert not known["den"].admits("web:ada")
    assert not await ShownFiles(MemoryRecords({"f": bad}), charters).shows("f", "web:ada")
