"""What is said of the commands of a chat apart from their table, compared with it."""

import re

import pytest

from adapters.discord.codec import interactions
from gateway.access.people import Role
from gateway.inbound.commands import COMMANDS
from runtime.core.texts import english
from runtime.stores.inbox import SESSION_COMMANDS
from tests.architecture.source_tree import ROOT

WHO = {"everybody": Role.GUEST, "members": Role.MEMBER, "owners": Role.OWNER}
ROWS = re.findall(r"^\| (`/.+`) \| .+ \| (\w+) \|$", (ROOT / "docs/reference/commands.md").read_text(), re.MULTILINE)
DOCUMENTED = [
    (name, argument, WHO[who]) for names, who in ROWS for name, argument in re.findall(r"`/(\w+)(.*?)`", names)
]


def test_every_command_is_documented() -> None:
    assert {name for name, _, _ in DOCUMENTED} == COMMANDS.keys()


@pytest.mark.parametrize(("name", "argument", "least"), DOCUMENTED)
def test_the_documentation_says_who_may_give_a_command(name: str, argument: str, least: Role) -> None:
    assert COMMANDS[name].least_for(argument) == least


def test_every_command_of_sessions_can_be_given() -> None:
    assert {command.kind for command in COMMANDS.values() if command.to_session} == SESSION_COMMANDS.keys()


def test_what_sessions_answer_where_there_are_none_is_a_text() -> None:
    answers = {command.unanswered for command in SESSION_COMMANDS.values() if command.unanswered is not None}
    assert [key for key in answers if key not in english()] == []


def test_the_parts_of_discords_menu_are_commands() -> None:
    assert set(interactions._TO_COMMAND.values()) <= COMMANDS.keys()
