"""Commands from the menu and presses of buttons."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from adapters.adapter import Inbound
from adapters.discord.codec.addresses import DiscordBot, address_of, snowflake_at
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
from runtime.core.message import Choice
from runtime.core.texts import english

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
