"""The examples in which agents and people meet, on the web and on Telegram at once: all that people see, in order."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.e2e.example_models import BUDGET_REVIEW, FLIGHT_BOOKING, RELEASE_VOTE, TRIP_PLANNING, script
from tests.e2e.gateway_process import ROOT, Gateway, Room, gateway, key_in
from tests.e2e.talks import Talk, TelegramTalk, WebTalk
from tests.e2e.tellers import telegram_settings
from tests.fakes.models.answers import Rules
from tests.fakes.models.openai_server import OpenAIServer
from tests.fakes.telegram.limits import FloodLimits
from tests.fakes.telegram.platform import GROUP, USERNAME, TelegramPlatform
from tests.fakes.telegram.server import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]


@asynccontextmanager
async def example(directory: Path, name: str, rules: Rules) -> AsyncIterator[tuple[Gateway, TelegramPlatform]]:
    """The gateway with an example and its model, on both platforms."""
    platform = TelegramPlatform(limits=FloodLimits())
    async with OpenAIServer(script(rules)) as server, serving(platform) as address:
        environment = {
            "PARLEY_MODEL": "openai/test",
            "PARLEY_MODEL_BASE_URL": server.base_url,
            **key_in(directory),
            **telegram_settings(address),
        }
        async with gateway(directory, ROOT / "examples" / f"{name}.pb", environment) as running:
            await running.listens_to("telegram")
            yield running, platform


async def talk_through(talk: Talk, says: Sequence[tuple[str, str]]) -> list[str]:
    """Say each text and wait for the answer that ends so; what agents said in all."""
    for text, answer in says:
        await talk.say(text)
        await talk.until_that(lambda answer=answer: any(shown.endswith(answer) for shown in talk.texts()))  # type: ignore[misc]
    return talk.texts()


TALKS = {
    "flight_booking": (
        FLIGHT_BOOKING,
        [("hello", "Where to?"), ("to Paris", "To Paris. When?"), ("3 to 7 May", "180 euros.")],
        [
            ("FlightBooking", "I will help you book a flight."),
            ("FlightBooking", "Where to?"),
            ("FlightBooking", "To Paris. When?"),
            ("FlightBooking", "I will check."),
            ("FlightBooking", "Paris, 3 to 7 May: 180 euros."),
        ],
    ),
    "trip_planning": (
        TRIP_PLANNING,
        [("hello", "Where and when?"), ("to Lisbon, in May", "420 euros in all")],
        [
            ("TravelCoordinator", "I will coordinate your trip."),
            ("TravelCoordinator", "Where and when?"),
            ("TravelCoordinator", "I coordinate trips; we look for a flight and a hotel."),
            ("TravelCoordinator", "The trip goes to Lisbon."),
            ("FlightAgent", "Flight: TP 123 to Lisbon at 9:40, 150 euros."),
            ("HotelAgent", "Hotel: the Mar in Lisbon, 270 euros."),
            ("TravelCoordinator", "Thank you both!"),
            ("TravelCoordinator", "Your trip: TP 123 at 9:40 and the Hotel Mar, 420 euros in all"),
        ],
    ),
    "budget_review": (
        BUDGET_REVIEW,
        [("hello", "What is the campaign about?"), ("about boats", "The verdict: 9,000 euros, not more.")],
        [
            ("CampaignLead", "What is the campaign about?"),
            ("CampaignLead", "Marketing, the campaign is about boats; the budget is 11,000."),
            ("Marketing", "It will cost 12,000 euros."),
            ("CampaignLead", "Accounting should have a look."),
            ("CampaignLead", "Accounting, what is left?"),
            ("Accounting", "There are 10,000 left."),
            ("CampaignLead", "It is decided: 9,000 euros, not more."),
            ("CampaignLead", "The verdict: 9,000 euros, not more."),
        ],
    ),
}


@pytest.mark.parametrize("name", list(TALKS))
async def test_the_talk_of_an_example_is_seen_whole_on_both_platforms(tmp_path: Path, name: str) -> None:
    rules, says, seen = TALKS[name]
    shown: dict[str, list[str]] = {}

    async def hold(platform: str, talk: Talk) -> None:
        shown[platform] = await talk_through(talk, says)

    async with example(tmp_path, name, rules) as (running, platform), AsyncExitStack() as stack:
        web = WebTalk("trip")
        await web.look(running, stack)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hold, "web", web)
            tasks.start_soon(hold, "telegram", TelegramTalk(platform))
        written = sorted(web.room.messages.values(), key=lambda message: message["seq"])
    first = seen[0][0]
    assert [(message["name"], message["text"]) for message in written if message["kind"] == "agent"] == seen
    assert shown["telegram"] == [text if speaker == first else f"{speaker}\n{text}" for speaker, text in seen]


VOTE_AT_HOME = [
    ("agent", "I will ask Alice and Bob."),
    ("notice", "👥 ReleaseManager invites Alice, Bob to a meeting: [ReleaseMeeting](…)"),
    ("notice", "👥 The meeting “ReleaseMeeting” has ended: We ship."),
    ("agent", "We ship."),
]
VOTE_IN_ITS_ROOM = [
    ("notice", "ReleaseMeeting"),
    (
        "notice",
        "👥 ReleaseManager is holding a meeting here: ReleaseMeeting. The meeting hears what you write here. "
        "[The conversation it belongs to](…)",
    ),
    ("agent", "[@Alice](…) ReleaseManager invites you to meeting 100: ReleaseMeeting. Do you want to join?"),
    ("agent", "[@Bob](…) ReleaseManager invites you to meeting 100: ReleaseMeeting. Do you want to join?"),
    ("person", "I am here"),
    ("person", "me too"),
    ("notice", "Meeting started"),
    ("agent", "In the release: forty fixes."),
    ("agent", "[@Alice](…) [@Bob](…) Ship it?\n\n✓ Yes, by Alice\n✓ Yes, by Bob"),
    ("person", "Yes"),
    ("notice", "Alice has answered (1 of 2)."),
    ("person", "Yes"),
    ("notice", "Bob has answered (2 of 2)."),
    ("agent", "Alice: Yes, Bob: Yes"),
    ("notice", "Meeting has ended"),
    ("notice", "👥 From now on, nobody hears what you write here. [The conversation it belongs to](…)"),
]


def whole(room: Room) -> list[tuple[str, str]]:
    """All that can be seen in a room, in order; where links lead is left out."""
    written = sorted(room.messages.values(), key=lambda message: message["seq"])
    return [(message["kind"], re.sub(r"\]\([^)]*\)", "](…)", message["text"])) for message in written]


async def test_two_people_and_an_agent_vote_in_a_room_of_their_own(tmp_path: Path) -> None:
    async with example(tmp_path, "release_vote", RELEASE_VOTE) as (running, _), AsyncExitStack() as stack:
        pages = {name: await stack.enter_async_context(running.page(name)) for name in ("Alice", "Bob")}
        home = Room(pages["Alice"], "team")
        await home.open()
        await home.say("hello")
        await home.until_some("](#")
        [link] = [found for message in home.messages.values() if (found := re.search(r"\(#([^)]*)\)", message["text"]))]
        alice, bob = (Room(page, link[1]) for page in pages.values())
        for room in (alice, bob):
            await room.join()
            await room.until_some("@Bob")
        for room, text, then in (
            (alice, "I am here", "I am here"),
            (bob, "me too", "Ship it?"),
            (alice, "Yes", "Alice has answered"),
            (bob, "Yes", "nobody hears"),
        ):
            await room.say(text)
            await room.until_some(then)
        await alice.until_some("nobody hears")
        seen = Room(await stack.enter_async_context(running.page("Bob")), "team")
        await seen.join()
        await seen.until_that(lambda: "We ship." in seen.texts())
    assert whole(alice) == whole(bob) == VOTE_IN_ITS_ROOM
    assert whole(seen)[2:] == VOTE_AT_HOME


async def test_two_people_and_an_agent_vote_in_a_group(tmp_path: Path) -> None:
    people = {"Alice": 42, "Bob": 43}
    async with example(tmp_path, "release_vote", RELEASE_VOTE) as (_, platform):
        platform.chats.open(GROUP)
        talk = TelegramTalk(platform, chat=GROUP)
        for name, text, then in (
            ("Alice", "hello", "Do you want to join?"),
            ("Bob", "me too", "Ship it?"),
            ("Alice", "Yes", "Alice has answered"),
            ("Bob", "Yes", "\nWe ship."),
        ):
            platform.say(f"@{USERNAME} {text}", chat=GROUP, person=people[name], name=name)
            await talk.until_that(lambda then=then: any(then in shown for shown in talk.texts()))  # type: ignore[misc]
    assert talk.texts() == [
        "ReleaseManager\nI will ask Alice and Bob.",
        "ReleaseManager\n@\u2060Bob ReleaseManager invites you to meeting 100: ReleaseMeeting. Do you want to join?",
        "Meeting started",
        "ReleaseManager\nIn the release: forty fixes.",
        "ReleaseManager\n@Alice @Bob Ship it?",
        "Alice has answered (1 of 2).",
        "Bob has answered (2 of 2).",
        "ReleaseManager\nAlice: Yes, Bob: Yes",
        "Meeting has ended",
        "ReleaseManager\nWe ship.",
    ]
