"""Discord's events in our words."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.adapter import Inbound
from adapters.capabilities import Budget
from adapters.discord.codec import (
    BotIdentity,
    Place,
    address_of,
    channel_id_of,
    command_of,
    hook_name_of,
    inbound_of,
    invite_link,
    is_private,
    mark_of,
    moment_of,
    nonce_of,
    page_of,
    private_channel_of,
    snowflake_at,
)
from adapters.discord.limits import CAPABILITIES, MAX_MESSAGE_UNITS, MAX_NONCE, WEBHOOK_BUDGET
from adapters.discord.markup import utf16_length
from runtime.core.address import GATEWAY, Speaker
from runtime.core.message import Attachment

US = BotIdentity("7", "8", "Parley")
ADA = {"id": "42", "username": "ada", "global_name": "Ada Lovelace"}
NAMES = {"5": "helpers", "6": "general"}
CHANNEL = Place(role="9", name_of=NAMES.get)


def _message(content: str = "hi", **more: Any) -> dict[str, Any]:
    basics = {"id": "100", "channel_id": "1", "guild_id": "2", "author": ADA, "type": 0, "attachments": []}
    return {**basics, "content": content, "timestamp": "2026-01-02T03:04:05.678000+00:00", "mentions": []} | more


def _read(content: str = "hi", place: Place = CHANNEL, **more: Any) -> Inbound:
    inbound = inbound_of(_message(content, **more), US, place)
    assert inbound is not None
    return inbound


def test_private_message_is_addressed_and_complete() -> None:
    message = _message("hi")
    del message["guild_id"]
    assert inbound_of(message, US, Place()) == Inbound(
        address=address_of("1", private=True),
        event_id="7:100",
        person_id="discord:42",
        person_name="Ada Lovelace",
        text="hi",
        sent_at=datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC),
        private=True,
        addressed=True,
    )


@pytest.mark.parametrize(
    ("content", "text", "addressed"),
    [
        ("hello", "hello", False),
        ("<@7> hello", "hello", True),
        ("<@!7>, hello", "hello", True),
        ("<@&9>: hello", "hello", True),
        ("hello <@7>", "hello", True),
        ("hello <@7>, come", "hello, come", True),
        ("<@7>", "", True),
        ("<@43> and <@&5> in <#6>", "@Bob and @helpers in #general", False),
        ("<@99> who?", "<@99> who?", False),
        ("nice <:party:123> <a:wave:4>", "nice :party: :wave:", False),
    ],
)
def test_mentions_are_told_by_name_and_ours_addresses_us(content: str, text: str, addressed: bool) -> None:
    bob = {"id": "43", "username": "bob", "global_name": "Bob"}
    inbound = _read(content, mentions=[bob])
    assert (inbound.text, inbound.addressed) == (text, addressed)


@pytest.mark.parametrize(
    ("replied", "addressed"),
    [
        ({"author": {"id": "7"}}, True),
        ({"author": {"id": "55"}, "webhook_id": "55", "application_id": "8"}, True),
        ({"author": {"id": "55"}, "webhook_id": "55", "application_id": "66"}, False),
        ({"author": {"id": "43"}}, False),
        (None, False),
    ],
)
def test_reply_to_us_or_to_an_agent_addresses_us(replied: dict[str, Any] | None, addressed: bool) -> None:
    assert _read(type=19, referenced_message=replied).addressed is addressed


def test_everything_in_a_thread_of_ours_is_addressed() -> None:
    inbound = _read(place=Place(parent="1", ours=True), channel_id="3")
    assert (inbound.address, inbound.addressed) == (address_of("3", private=False, parent="1"), True)


@pytest.mark.parametrize(
    ("content", "place", "command", "text"),
    [
        ("/stop", CHANNEL, "stop", ""),
        ("/NEW a poem", CHANNEL, "new", "a poem"),
        ("/weather Rome", CHANNEL, None, "/weather Rome"),
        ("<@7> /weather Rome", CHANNEL, "weather", "Rome"),
        ("/weather Rome", Place(parent="1", ours=True), "weather", "Rome"),
        ("/etc/passwd is a file", Place(parent="1", ours=True), None, "/etc/passwd is a file"),
        ("say /stop", CHANNEL, None, "say /stop"),
    ],
)
def test_typed_commands_are_read_where_they_can_be_meant_for_us(
    content: str, place: Place, command: str | None, text: str
) -> None:
    inbound = _read(content, place)
    assert (inbound.command, inbound.text) == (command, text)


@pytest.mark.parametrize(
    "more",
    [
        {"author": ADA | {"bot": True}},
        {"webhook_id": "5"},
        {"type": 7},
        {"content": ""},
    ],
)
def test_what_is_not_from_a_person_is_nothing_to_us(more: dict[str, Any]) -> None:
    assert inbound_of(_message(**{"content": "hi"} | more), US, CHANNEL) is None


def test_nickname_comes_before_the_name_that_is_shown_everywhere() -> None:
    assert _read(member={"nick": "Countess"}).person_name == "Countess"
    assert _read(author={"id": "43", "username": "bob"}).person_name == "bob"


def test_files_are_handed_on_and_stand_for_a_text() -> None:
    file = {"filename": "a.png", "content_type": "image/png", "url": "https://cdn.example/a.png", "size": 5}
    inbound = _read("", attachments=[file, {"filename": "b", "url": "https://cdn.example/b"}])
    assert inbound.attachments == (
        Attachment("a.png", "image/png", "https://cdn.example/a.png", 5),
        Attachment("b", "application/octet-stream", "https://cdn.example/b"),
    )


def test_message_that_was_passed_on_is_read_too() -> None:
    assert _read("", message_snapshots=[{"message": {"content": "from elsewhere"}}]).text == "from elsewhere"


def test_command_of_the_menu_is_complete() -> None:
    interaction = {
        "id": str(snowflake_at(datetime(2026, 1, 2, tzinfo=UTC))),
        "type": 2,
        "token": "t",
        "channel_id": "3",
        "channel": {"type": 11, "parent_id": "1"},
        "guild_id": "2",
        "member": {"user": ADA, "nick": "Countess"},
        "data": {"type": 1, "name": "new", "options": [{"name": "text", "value": " a poem "}]},
    }
    assert command_of(interaction, US) == Inbound(
        address=address_of("3", private=False, parent="1"),
        event_id=f"7:{interaction['id']}",
        person_id="discord:42",
        person_name="Countess",
        text="a poem",
        sent_at=datetime(2026, 1, 2, tzinfo=UTC),
        private=False,
        addressed=True,
        command="new",
    )


@pytest.mark.parametrize("more", [{"type": 3}, {"data": {"type": 2, "name": "Report"}}])
def test_button_and_menu_of_a_person_are_no_commands(more: dict[str, Any]) -> None:
    assert command_of({"id": "1", "type": 2, "data": {"name": "new"}} | more, US) is None


def test_category_of_a_channel_is_not_taken_for_its_parent() -> None:
    interaction = {"id": "1", "type": 2, "channel_id": "3", "channel": {"type": 0, "parent_id": "77"}, "guild_id": "2"}
    command = command_of(interaction | {"member": {"user": ADA}, "data": {"name": "new"}}, US)
    assert command is not None
    assert command.address.thread is None


def test_addresses_lead_back_to_channels_and_marks() -> None:
    dm, channel, thread = (
        address_of("1", private=True),
        address_of("1", private=False),
        address_of("3", private=False, parent="1"),
    )
    assert [channel_id_of(each) for each in (dm, channel, thread)] == ["1", "1", "3"]
    assert [is_private(each) for each in (dm, channel, thread)] == [True, False, False]
    assert [private_channel_of(mark_of(each)) for each in (dm, channel, thread)] == ["1", None, None]
    assert len({each.key for each in (dm, channel, thread)}) == 3


@pytest.mark.parametrize("text", ["x" * 1900, "a||" * 633, "😀" * 950, "|a|\n|-|\n" + "|b|\n" * 400])
def test_page_fits_into_a_message_whatever_its_marks(text: str) -> None:
    assert utf16_length(text) <= CAPABILITIES.max_text
    assert utf16_length(page_of(text, Speaker("1000", "N" * 200), named=True)) <= MAX_MESSAGE_UNITS


def test_gateway_has_no_heading() -> None:
    assert page_of("hi", GATEWAY, named=True) == "hi"
    assert page_of("hi", Speaker("1000", "Host"), named=True) == "**Host**\nhi"
    assert page_of("hi", Speaker("1000", "Host"), named=False) == "hi"


@pytest.mark.parametrize("name", ["My Discord Helper", "Clyde", "DISCORD"])
def test_names_that_discord_refuses_are_changed(name: str) -> None:
    changed = hook_name_of(Speaker("1000", name)).lower()
    assert "discord" not in changed
    assert "clyde" not in changed


def test_nonces_fit_and_differ() -> None:
    one, other = nonce_of("0123456789abcdef0123456789abcdef.0"), nonce_of("0123456789abcdef0123456789abcdef.1")
    assert one != other
    assert len(one) <= MAX_NONCE
    assert one == nonce_of("0123456789abcdef0123456789abcdef.0")


def test_ids_tell_their_time() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    assert moment_of(str(snowflake_at(at))) == at


@pytest.mark.parametrize(
    ("budget", "calls", "window_s"),
    [
        (CAPABILITIES.private_budget, 5, 5),
        (CAPABILITIES.group_budget, 5, 5),
        (WEBHOOK_BUDGET, 5, 2),
        (WEBHOOK_BUDGET, 30, 60),
    ],
)
def test_budgets_keep_within_the_windows_of_the_platform(budget: Budget, calls: int, window_s: int) -> None:
    assert budget.burst + budget.rate_per_s * window_s <= calls


def test_invitation_asks_for_no_more_than_is_needed() -> None:
    link = invite_link("8")
    assert link.endswith("client_id=8&scope=bot+applications.commands&permissions=275414846464")


def test_codec_needs_no_library_of_discords() -> None:
    program = "import sys, adapters.discord.codec; sys.exit('discord' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
