"""Discord's names, commands, presses and rate limits in our words."""

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.adapter import Inbound
from adapters.capabilities import Budget, measure_utf16
from adapters.discord.api.bot import invitation, missing
from adapters.discord.api.calls import MAX_KEPT, Buckets
from adapters.discord.codec.addresses import (
    DiscordBot,
    address_of,
    channel_id_of,
    is_private,
    mark_of,
    moment_of,
    name_of,
    nonce_of,
    page_of,
    private_channel_of,
    snowflake_at,
)
from adapters.discord.codec.interactions import (
    MAX_COMMANDS,
    choice_of,
    command_of,
    kind_of,
    offered,
    suggestions,
    thread_name,
)
from adapters.discord.codec.payload import choice_rows
from adapters.discord.limits import CAPABILITIES, HOOK_BUDGET, HOOKS_BUDGET, MAX_MESSAGE_UNITS, MAX_NONCE, within
from runtime.core.address import GATEWAY, Speaker
from runtime.core.message import Choice
from runtime.core.texts import english
from tests.fakes.clock import FakeClock

US = DiscordBot("7", "8", "Parley")
ADA = {"id": "42", "username": "ada", "global_name": "Ada Lovelace"}


def _session(part: str, kind: int = 2, **filled: str) -> dict[str, Any]:
    options = [{"name": name, "type": 3, "value": value} for name, value in filled.items()]
    data = {"name": "session", "type": 1, "options": [{"name": part, "type": 1, "options": options}]}
    return {"id": "1", "type": kind, "channel_id": "3", "guild_id": "2", "member": {"user": ADA}, "data": data}


def _pressed(data: dict[str, Any], choices: list[Choice], **more: Any) -> dict[str, Any]:
    message = {"id": "100", "components": choice_rows(choices)} | more
    return {"id": "1", "type": 3, "channel_id": "3", "user": ADA, "data": data, "message": message}


def test_command_of_the_menu_is_complete() -> None:
    interaction = {
        "id": str(snowflake_at(datetime(2026, 1, 2, tzinfo=UTC))),
        "type": 2,
        "token": "t",
        "channel_id": "3",
        "channel": {"type": 11, "parent_id": "1"},
        "guild_id": "2",
        "locale": "de",
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
        space="2",
        language="de",
    )


def test_category_of_a_channel_is_not_taken_for_its_parent() -> None:
    interaction = {"id": "1", "type": 2, "channel_id": "3", "channel": {"type": 0, "parent_id": "77"}, "guild_id": "2"}
    command = command_of(interaction | {"member": {"user": ADA}, "data": {"name": "new"}}, US)
    assert command.address.thread is None


@pytest.mark.parametrize(
    ("interaction", "kind"),
    [
        ({"type": 2, "data": {"name": "new"}}, "command"),
        (_session("start"), "start"),
        (_session("stop"), "command"),
        (_session("invite"), "invite"),
        (_session("start", kind=4), "suggestion"),
        ({"type": 3, "data": {"custom_id": "x"}}, "choice"),
        ({"type": 2, "data": {"type": 2, "name": "Report"}}, None),
        ({"type": 4, "data": {"name": "new"}}, None),
        ({"type": 5, "data": {}}, None),
        ({"type": 1}, None),
    ],
)
def test_each_interaction_is_taken_for_what_it_is(interaction: dict[str, Any], kind: str | None) -> None:
    assert kind_of(interaction) == kind


def test_parts_of_a_session_are_commands_of_the_gateway() -> None:
    start = command_of(_session("start", program="poker", topic=" friday "), US)
    assert (start.command, start.program, start.text) == ("new", "poker", "friday")
    assert [command_of(_session(part), US).command for part in ("stop", "who")] == ["stop", "who"]


def test_thread_is_named_after_the_topic_else_the_program() -> None:
    assert thread_name(_session("start", program="poker", topic="friday")) == "friday"
    assert thread_name(_session("start", program="poker")) == "poker"
    assert thread_name(_session("start")) == ""


def test_press_of_a_button_names_the_choice_and_the_message_as_we_know_it() -> None:
    choices = [Choice("a:1", "Yes"), Choice("a:2", "No")]
    item = choice_of(_pressed({"custom_id": "a:2", "component_type": 2}, choices, webhook_id="55"), US)
    assert (item.act, item.choice, item.text, item.message_id) == ("choice", "a:2", "No", "100@55")


def test_choice_from_a_menu_is_its_value() -> None:
    choices = [Choice(str(number), f"Number {number}") for number in range(60)]
    item = choice_of(_pressed({"custom_id": "parley.menu.1", "values": ["30"]}, choices), US)
    assert (item.choice, item.text, item.message_id) == ("30", "Number 30", "100")


def test_program_is_asked_for_where_there_is_one_to_choose() -> None:
    for programs, names in (((), ["topic"]), (("poker",), ["program", "topic"])):
        [session] = offered({}, programs, english())
        [start] = [part for part in session["options"] if part["name"] == "start"]
        assert [option["name"] for option in start["options"]] == names


def test_menu_keeps_within_what_discord_takes() -> None:
    commands = {f"c{number}": "x" * 300 for number in range(200)} | {"Not Fitting": "what"}
    made = offered(commands, (), english())
    assert len(made) == MAX_COMMANDS
    assert max(len(each["description"]) for each in made) <= 100
    assert "Not Fitting" not in {each["name"] for each in made}


def test_programs_are_suggested_by_what_was_typed() -> None:
    programs = ["Poker", "chess", "poker-night", *(f"game {number}" for number in range(40))]
    assert suggestions(_session("start", kind=4, program="poKER"), programs) == ["Poker", "poker-night"]
    assert len(suggestions(_session("start", kind=4), programs)) == 25


def test_addresses_lead_back_to_channels_and_marks() -> None:
    dm, channel, thread = (
        address_of("1", private=True),
        address_of("1", private=False),
        address_of("3", private=False, parent="1"),
    )
    assert [channel_id_of(each) for each in (dm, channel, thread)] == ["1", "1", "3"]
    assert [is_private(each) for each in (dm, channel, thread)] == [True, False, False]
    assert [private_channel_of(mark_of("1", private=private)) for private in (True, False)] == ["1", None]
    assert len({each.key for each in (dm, channel, thread)}) == 3


@pytest.mark.parametrize("text", ["x" * 1800, "a||" * 600, "😀" * 900, "|a|\n|-|\n" + "|b|\n" * 400])
def test_page_fits_into_a_message_whatever_its_marks(text: str) -> None:
    assert measure_utf16(text) <= CAPABILITIES.max_text
    assert measure_utf16(page_of(text, Speaker("1000", "N" * 200), named=True).text) <= MAX_MESSAGE_UNITS


def test_gateway_has_no_heading() -> None:
    assert page_of("hi", GATEWAY, named=True).text == "hi"
    assert page_of("hi", Speaker("1000", "Host"), named=True).text == "**Host**\nhi"
    assert page_of("hi", Speaker("1000", "Host"), named=False).text == "hi"


@pytest.mark.parametrize("name", ["My Discord Helper", "Clyde", "DISCORD"])
def test_names_that_discord_refuses_are_changed(name: str) -> None:
    changed = name_of(Speaker("1000", name), None).name.lower()
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
        (HOOK_BUDGET, 5, 2),
        (HOOKS_BUDGET, 30, 60),
        *((within(calls, window_s), calls, window_s) for calls in (1, 2, 5, 10, 50) for window_s in (1, 2, 60)),
    ],
)
def test_budgets_keep_within_the_windows_of_the_platform(budget: Budget, calls: int, window_s: int) -> None:
    assert int(budget.burst + budget.rate_per_s * window_s) <= calls


def test_invitation_asks_for_no_more_than_is_needed() -> None:
    asked = invitation("8")
    assert asked.link.endswith("client_id=8&scope=bot+applications.commands&permissions=309774617664")
    assert missing(309774617664) == []
    assert [right.name for right in missing(309774617664 & ~(1 << 29))] == ["Manage Webhooks"]
    assert missing(8) == []


def test_only_those_are_pinged_whom_the_text_links_to_outside_code() -> None:
    page = page_of("[@Ada](person:discord:42), not <@43> nor @everyone", Speaker("1000", "Host"), named=False)
    assert page.text == "<@42>, not <@\u200b43> nor @\u200beveryone"
    assert page.pings == {"42"}
    code = page_of("`[@Ada](person:discord:42)`", Speaker("1000", "Host"), named=False)
    assert "<@42>" not in code.text


def test_codec_needs_no_library_of_discords() -> None:
    program = "import sys, adapters.discord.codec.addresses; sys.exit('discord' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


USED_UP = {"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "2.5"}


def test_used_up_bucket_is_closed_until_it_is_reset() -> None:
    buckets = Buckets(FakeClock())
    buckets.learn("POST /x", "1", USED_UP)
    assert buckets.wait_s("POST /x", "1") == 2.5
    assert buckets.wait_s("POST /x", "2") == 0


def test_bucket_with_something_left_is_open() -> None:
    buckets = Buckets(FakeClock())
    buckets.learn("POST /x", "1", USED_UP | {"X-RateLimit-Remaining": "1"})
    buckets.learn("POST /x", "1", {})
    assert buckets.wait_s("POST /x", "1") == 0


def test_methods_that_name_the_same_bucket_are_counted_apart() -> None:
    buckets = Buckets(FakeClock())
    buckets.learn("POST /x", "1", USED_UP | {"X-RateLimit-Bucket": "b"})
    buckets.learn("PATCH /x", "1", USED_UP | {"X-RateLimit-Bucket": "b", "X-RateLimit-Remaining": "3"})
    assert buckets.wait_s("POST /x", "1") == 2.5
    assert buckets.wait_s("PATCH /x", "1") == 0


def test_size_of_a_route_is_learned_from_the_first_call_of_a_window() -> None:
    buckets = Buckets(FakeClock())
    buckets.learn("POST /x", "1", USED_UP | {"X-RateLimit-Remaining": "3", "X-RateLimit-Reset-After": "1.2"})
    assert buckets.size("POST /x") is None
    told = {"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "9", "X-RateLimit-Reset-After": "4.998"}
    buckets.learn("POST /x", "1", told)
    assert buckets.size("POST /x") == within(10, 5.0)


@pytest.mark.parametrize("headers", [{}, {"X-RateLimit-Limit": "many"}])
def test_headers_that_tell_nothing_change_nothing(headers: dict[str, str]) -> None:
    buckets = Buckets(FakeClock())
    buckets.learn("POST /x", "1", headers)
    assert (buckets.wait_s("POST /x", "1"), buckets.size("POST /x")) == (0, None)


def test_whole_bot_waits() -> None:
    buckets = Buckets(FakeClock())
    buckets.close_all(4.0)
    assert buckets.wait_s("POST /anything", "9") == 4.0


async def test_wait_ends() -> None:
    clock = FakeClock()
    buckets = Buckets(clock)
    for n in range(MAX_KEPT + 1):
        buckets.close("POST /x", str(n), 1.0)
    await clock.advance(1.0)
    buckets.close("POST /x", "0", 5.0)
    assert [buckets.wait_s("POST /x", str(n)) for n in range(3)] == [5.0, 0.0, 0.0]
