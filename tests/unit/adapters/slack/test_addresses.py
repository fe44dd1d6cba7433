"""Slack's events become what people did, or nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.adapter import Inbound
from adapters.slack.codec.addresses import SlackBot, SlackPerson, channel_of, is_private, plain_text
from adapters.slack.codec.events import SlackHappening, address_of, happening_in, inbound_of, mentions
from adapters.slack.manifest import lacking
from adapters.slack.outbound.answers import ICONS, AgentIcons
from runtime.core.address import GATEWAY, Address, Speaker

BOT = SlackBot("T1", "Team", "U0BOT", "B0BOT", "parley")
NAMES = {"U1": "Ada", "U2": "Bob"}


def _message(text: str = "hi", **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": "U1", "channel": "C1", "ts": "1700000000.000100", "text": text} | more


def _happening(**more: Any) -> SlackHappening:
    found = happening_in(_message(**more), BOT)
    assert found is not None
    return found


def _inbound(*, addressed: bool = True, **more: Any) -> Inbound:
    people = {user: SlackPerson(name) for user, name in NAMES.items()}
    return inbound_of(_happening(**more), "Ev1", BOT, people, ("new", "stop", "help"), addressed=addressed)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("<@U0BOT> hello", "hello"),
        ("<@U0BOT>: hello", "hello"),
        ("<@U0BOT>, hello", "hello"),
        ("hello <@U0BOT> there", "hello there"),
        ("hello <@U0BOT>, there", "hello , there"),
        ("well, <@U0BOT>", "well,"),
        ("<@U0BOT>", ""),
        ("<@U0BOT> <@U0BOT|parley> twice", "twice"),
        ("ask <@U1> and <@U9>", "ask @Ada and @U9"),
        ("<@U9|carol>", "@carol"),
        ("in <#C1|general> or <#C2>", "in #general or #C2"),
        ("<!here> <!channel|@channel> <!subteam^S1|@team>", "@here @channel @team"),
        ("<!date^1392734382^{date}|18 February>", "18 February"),
        ("<https://a.b/?c&amp;d>", "https://a.b/?c&d"),
        ("<http://a.b|a.b>", "http://a.b"),
        ("<https://a.b|our page>", "our page (https://a.b)"),
        ("<mailto:x@a.b|x@a.b>", "x@a.b"),
        ("a &lt;b&gt; &amp;lt; c", "a <b> &lt; c"),
        ("  line\nline  ", "line\nline"),
    ],
)
def test_text_is_read_as_it_was_typed(text: str, read: str) -> None:
    assert plain_text(text, BOT.user_id, NAMES) == read


@pytest.mark.parametrize(
    ("more", "thread"),
    [
        ({}, None),
        ({"text": "<@U0BOT> x"}, "1700000000.000100"),
        ({"text": "<@U0BOT> x", "thread_ts": "1.2"}, "1.2"),
        ({"thread_ts": "1.2"}, "1.2"),
        ({"channel": "D1", "text": "<@U0BOT> x"}, None),
        ({"channel": "D1", "thread_ts": "1.2"}, "1.2"),
    ],
)
def test_thread_is_a_conversation_and_a_mention_begins_one(more: dict[str, str], thread: str | None) -> None:
    assert address_of(_happening(**more), BOT) == Address("slack", f"T1:{more.get('channel', 'C1')}", thread)


@pytest.mark.parametrize(
    "more",
    [
        {"type": "app_mention"},
        {"bot_id": "B2"},
        {"user": "U0BOT"},
        {"user": "USLACKBOT"},
        {"subtype": "channel_join"},
        {"text": ""},
    ],
)
def test_what_no_person_said_is_nothing(more: dict[str, Any]) -> None:
    assert happening_in(_message(**more), BOT) is None


@pytest.mark.parametrize(
    "more", [{}, {"subtype": "file_share", "text": "", "files": [{"id": "F"}]}, {"subtype": "thread_broadcast"}]
)
def test_what_a_person_said_is_heard(more: dict[str, Any]) -> None:
    assert _happening(**more).act == "message"


def test_item_has_all_that_is_known() -> None:
    heard = _inbound(text="<@U0BOT> /New topic")
    assert heard.sent_at == datetime(2023, 11, 14, 22, 13, 20, 100, tzinfo=UTC)
    assert (heard.person_id, heard.person_name, heard.event_id) == ("slack:T1:U1", "Ada", "Ev1")
    assert (heard.command, heard.text, heard.private) == ("new", "topic", False)


@pytest.mark.parametrize(
    ("text", "addressed", "command"),
    [
        ("/stop", True, "stop"),
        ("!help me", True, "help"),
        ("!stop", False, None),
        ("/shrug", True, None),
        ("!stopping", True, None),
        ("please /stop", True, None),
    ],
)
def test_only_known_words_to_us_are_commands(text: str, addressed: bool, command: str | None) -> None:
    heard = _inbound(text=text, addressed=addressed)
    assert heard.command == command
    assert (heard.text == text) == (command is None)


def test_files_without_details_have_a_name_and_a_type() -> None:
    files = [{"id": "F1", "file_access": "check_file_info"}, {"id": "F2", "mode": "tombstone"}]
    [file] = _inbound(files=files).attachments
    assert (file.name, file.media_type, file.url, file.size_bytes) == (
        "file.bin",
        "application/octet-stream",
        "slack-file:T1:F1",
        None,
    )


def test_mentions_and_people_are_found() -> None:
    happening = _happening(text="<@U0BOT> and <@U2|bob> and <@W3>")
    assert mentions(happening, BOT)
    assert happening.people == ["U1", "U0BOT", "U2", "W3"]
    assert not mentions(_happening(text="U0BOT"), BOT)


def test_faces_are_stable_and_the_gateway_has_none() -> None:
    here, there = Address("slack", "T1:C1", "1.2"), Address("slack", "T1:C1", "3.4")
    faces = AgentIcons(10)
    assert faces.of(here, Speaker("1", "Writer")) == faces.of(there, Speaker("2", "Writer"))
    assert faces.of(here, Speaker("1", "Writer")) == AgentIcons(10).of(here, Speaker("1", "Writer"))
    assert faces.of(here, GATEWAY) is None
    long = faces.of(here, Speaker("3", "x" * 100 + "\n"))
    assert long is not None
    assert len(long.username) == 64


def test_agents_of_one_conversation_have_icons_of_their_own_as_long_as_there_are_any() -> None:
    here, faces = Address("slack", "T1:C1", "1.2"), AgentIcons(10)
    cast = [Speaker(str(1000 + number), f"Agent {number}") for number in range(len(ICONS) + 3)]
    icons = [face.icon_emoji for face in (faces.of(here, agent) for agent in cast) if face is not None]
    assert set(icons[: len(ICONS)]) == set(ICONS)
    assert len(icons) == len(cast)
    again = [face.icon_emoji for face in (faces.of(here, agent) for agent in reversed(cast)) if face is not None]
    assert again == icons[::-1]


def test_address_of_another_kind_is_refused() -> None:
    assert channel_of(Address("slack", "T1:D1")) == "D1"
    assert is_private(Address("slack", "T1:D1"))
    assert not is_private(Address("slack", "T1:C1", "1.2"))
    with pytest.raises(ValueError, match="not a workspace and a channel"):
        channel_of(Address("slack", "C1"))


def test_scopes_that_are_not_told_are_not_missing() -> None:
    assert lacking(frozenset()) == ()
    assert "users:read" in lacking(frozenset({"chat:write"}))
