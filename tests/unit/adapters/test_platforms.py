"""What all platforms share: ratings, the calendar, recent things, and what is stored badly."""

import json
from collections.abc import Mapping
from datetime import timedelta
from email.utils import format_datetime

import pytest

from adapters.decoding import rating_of_all, rating_of_one
from adapters.discord.inbound.intake import DiscordCatchUp
from adapters.discord.outbound.webhooks import UnconfirmedPosts
from adapters.pages.signs import Note, StatusMessages
from adapters.platform_clock import PlatformClock, asked_pause_s
from adapters.recent import RecentValues
from adapters.slack.api.workspaces import SlackInstallations
from adapters.telegram.chat_state import ChatState
from adapters.web.charters import RoomCharters, ShownFiles
from runtime.core.address import Address, Speaker
from runtime.core.clock import SystemClock
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords

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


@pytest.mark.parametrize("mark", ["👍", "👍🏽", ":+1:", "thumbsup", "+1::skin-tone-3"])
def test_a_thumb_of_any_colour_and_name_is_one(mark: str) -> None:
    assert rating_of_one(mark, there=True) == "up"
    assert rating_of_one(mark, there=False) == "not_up"
    assert rating_of_all([mark]) == "up"


@pytest.mark.parametrize("mark", ["👎", ":-1:", "thumbsdown", "👎🏿"])
def test_a_thumb_down_is_one(mark: str) -> None:
    assert rating_of_one(mark, there=True) == "down"
    assert rating_of_one(mark, there=False) == "not_down"


@pytest.mark.parametrize("mark", ["❤️", ":eyes:", "", "custom"])
def test_other_marks_rate_nothing(mark: str) -> None:
    assert rating_of_one(mark, there=True) is None
    assert rating_of_one(mark, there=False) is None


def test_all_marks_together_are_one_rating() -> None:
    assert rating_of_all(["❤️", "👎"]) == "down"
    assert rating_of_all(["👎", "👍"]) == "up"
    assert rating_of_all(["❤️"]) == rating_of_all([]) == "none"


async def test_our_calendar_counts_until_the_platform_answers_and_then_theirs_which_goes_on_by_itself() -> None:
    ours = FakeClock()
    clock = PlatformClock(ours)
    assert clock.now() == ours.now()
    theirs = ours.now() - timedelta(hours=1)
    clock.hear(format_datetime(theirs, usegmt=True))
    await ours.advance(90)
    assert clock.now() == theirs.replace(microsecond=0) + timedelta(seconds=90)


@pytest.mark.parametrize("date", [None, "", "yesterday", "Mon, 99 Foo 2026 00:00:00 GMT"])
def test_an_answer_without_a_date_changes_nothing(date: str | None) -> None:
    ours = FakeClock()
    clock = PlatformClock(ours)
    clock.hear(date)
    assert clock.now() == ours.now()


def test_a_date_of_whole_seconds_leaves_a_calendar_that_is_right_as_exact_as_it_is() -> None:
    ours = FakeClock()
    clock = PlatformClock(ours)
    clock.hear(format_datetime(ours.now() - timedelta(seconds=1), usegmt=True))
    assert clock.now() == ours.now()


@pytest.mark.parametrize(("told", "pause_s"), [(7, 7.0), ("7", 7.0), (0.25, 0.25), ("0", 0.0), (13_938, 13_938.0)])
def test_a_number_of_seconds_is_waited_for(told: object, pause_s: float) -> None:
    assert asked_pause_s(told, 60.0) == pause_s


@pytest.mark.parametrize(
    "told", [None, "", "Wed, 21 Oct 2026 07:28:00 GMT", "nan", float("inf"), "-5", -5, "soon", [7]]
)
def test_what_is_no_number_of_seconds_is_the_pause_of_those_who_say_nothing(told: object) -> None:
    assert asked_pause_s(told, 60.0) == 60.0


def test_what_was_not_used_for_the_longest_time_is_forgotten() -> None:
    recent = RecentValues[str, int](2)
    recent.keep("a", 0)
    recent.keep("b", 1)
    assert recent.get("a") == 0
    recent.keep("c", 2)
    assert ("a" in recent, "b" in recent, "c" in recent) == (True, False, True)


def test_looking_whether_it_is_there_is_no_use() -> None:
    recent = RecentValues[str, int](2)
    recent.keep("a", 0)
    recent.keep("b", 1)
    assert "a" in recent
    recent.keep("c", 2)
    assert list(recent.values()) == [1, 2]


def test_what_is_kept_again_stands_once() -> None:
    recent = RecentValues[str, int](2)
    for number in range(3):
        recent.keep("a", number)
    recent.forget("b")
    assert list(recent.values()) == [2]
    recent.forget("a")
    assert recent.get("a") is None
