"""Commands from the menu and presses of buttons: their definition, and people's use of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec.structs import replace

from adapters.adapter import NOT_UNDERSTOOD, Inbound
from adapters.discord.codec.addresses import PLATFORM, THREAD_TYPES, DiscordBot, address_of, moment_of, snowflake
from adapters.discord.codec.payload import MENU, labels
from runtime.core.texts import Texts

COMMAND_TEXT = "text"
SESSION = "session"
"""The command about sessions, with several parts: start, stop, who, iam, invite."""
MAX_COMMANDS = 100
"""Most commands of one bot (Discord's documentation, Application Commands)."""
MAX_DESCRIPTION = 100
"""Most characters of a command's description (Application Commands)."""
MAX_SUGGESTIONS = 25
"""Most programs that are suggested at once (Discord's documentation, Autocomplete)."""
_COMMAND_NAME = re.compile(r"[a-z0-9_-]{1,32}")
_TO_COMMAND = {"start": "new", "stop": "stop", "who": "who", "iam": "iam"}
"""The parts of /session and the commands that they mean to the gateway; "invite" is handled here."""
_COMMAND, _PRESS, _SUGGESTING = 2, 3, 4
_CHAT_INPUT = 1
_PART, _TEXT, _PERSON = 1, 3, 6

_Json: TypeAlias = Mapping[str, Any]

Kind = Literal["command", "start", "invite", "choice", "suggestion"]
"""What the person is doing: giving a command, starting a session, inviting somebody, choosing, typing a program."""
_PARTS: Mapping[str | None, Kind] = {"start": "start", "invite": "invite"}
"""The parts of /session that are not just commands."""


def offered(commands: Mapping[str, str], programs: Sequence[str], texts: Texts) -> list[dict[str, Any]]:
    """The bot's commands in Discord's form; `commands` are descriptions by name."""
    text = {"type": _TEXT, "name": COMMAND_TEXT, "description": texts("sessions.text"), "required": False}
    fitting = {name: what for name, what in commands.items() if _COMMAND_NAME.fullmatch(name) and name != SESSION}
    plain = [{"name": name, "description": what[:MAX_DESCRIPTION], "options": [text]} for name, what in fitting.items()]
    session = {"name": SESSION, "description": texts("sessions.what"), "options": _parts(programs, texts)}
    return [*plain[: MAX_COMMANDS - 1], session]


def _parts(programs: Sequence[str], texts: Texts) -> list[dict[str, Any]]:
    topic = {"type": _TEXT, "name": "topic", "description": texts("sessions.topic"), "required": False}
    program = {"type": _TEXT, "name": "program", "description": texts("sessions.program"), "required": False}
    start = [program | {"autocomplete": True}, topic] if programs else [topic]
    name = {"type": _TEXT, "name": "name", "description": texts("sessions.name"), "required": True}
    person = {"type": _PERSON, "name": "person", "description": texts("sessions.person"), "required": True}
    return [
        {"type": _PART, "name": "start", "description": texts("sessions.start"), "options": start},
        {"type": _PART, "name": "stop", "description": texts("sessions.stop")},
        {"type": _PART, "name": "who", "description": texts("sessions.who")},
        {"type": _PART, "name": "iam", "description": texts("sessions.iam"), "options": [name]},
        {"type": _PART, "name": "invite", "description": texts("sessions.invite"), "options": [person]},
    ]


def kind_of(interaction: _Json) -> Kind | None:
    """The kind of interaction; None for one that the bot did not offer, or that is not understood."""
    try:
        return _kind_of(interaction, interaction.get("data") or {})
    except NOT_UNDERSTOOD:
        return None


def _kind_of(interaction: _Json, data: _Json) -> Kind | None:
    match interaction.get("type"):
        case op if op == _PRESS:
            return "choice" if "custom_id" in data else None
        case op if op == _SUGGESTING:
            return "suggestion" if data.get("name") == SESSION else None
        case op if op == _COMMAND and data.get("type", _CHAT_INPUT) == _CHAT_INPUT:
            return _PARTS.get(_part(data), "command")
    return None


def command_of(interaction: _Json, us: DiscordBot) -> Inbound:
    """A command and its text, where it was given. Raises KeyError, TypeError or ValueError for what is no command."""
    data = interaction["data"]
    options = options_of(interaction)
    part = _part(data)
    command = str(data["name"]) if part is None else _TO_COMMAND[part]
    text = options.get(COMMAND_TEXT) or options.get("topic") or options.get("name") or ""
    return replace(_done(interaction, us.id), command=command, text=str(text).strip(), program=options.get("program"))


def choice_of(interaction: _Json, us: DiscordBot) -> Inbound:
    """A press of a choice under a message of ours. Raises as `command_of`."""
    data, message = interaction["data"], interaction["message"]
    chosen = str(data["values"][0] if data["custom_id"].startswith(MENU) else data["custom_id"])
    hook = message.get("webhook_id")
    known_as = f"{snowflake(message['id'])}@{hook}" if hook else snowflake(message["id"])
    label = dict(labels(message)).get(chosen, chosen)
    return replace(_done(interaction, us.id), act="choice", choice=chosen, text=label, message_id=known_as)


def asked_of(interaction: _Json) -> Inbound:
    """The person and the place of a command that the adapter itself answers. Raises as `command_of`."""
    part = _part(interaction["data"])
    return replace(_done(interaction, str(interaction["application_id"])), command=_TO_COMMAND.get(part or "", part))


def options_of(interaction: _Json) -> dict[str, Any]:
    given = interaction["data"].get("options", ())
    if given and given[0].get("type") == _PART:
        given = given[0].get("options", ())
    return {option["name"]: option.get("value") for option in given}


def suggestions(interaction: _Json, programs: Sequence[str]) -> list[str]:
    """The programs whose names contain the typed text."""
    typed = str(options_of(interaction).get("program") or "").casefold()
    return [name for name in programs if typed in name.casefold()][:MAX_SUGGESTIONS]


def in_thread(interaction: _Json) -> bool:
    return (interaction.get("channel") or {}).get("type") in THREAD_TYPES


def thread_name(interaction: _Json) -> str:
    """The name of a session's thread: its topic, else its program; empty where neither was given."""
    options = options_of(interaction)
    return " ".join(str(options.get("topic") or options.get("program") or "").split())


def person_of(interaction: _Json) -> str:
    """Discord's id of who did it. Raises as `command_of`."""
    return snowflake((interaction.get("member") or interaction)["user"]["id"])


def _part(data: _Json) -> str | None:
    """The chosen part of /session; None for other commands."""
    if data.get("name") != SESSION:
        return None
    return str(next((option["name"] for option in data.get("options", ())), ""))


def _done(interaction: _Json, bot: str) -> Inbound:
    """The person and the place of any interaction."""
    private = "guild_id" not in interaction
    member = interaction.get("member")
    person = member["user"] if member else interaction["user"]
    channel = interaction.get("channel") or {}
    parent = snowflake(channel["parent_id"]) if channel.get("type") in THREAD_TYPES else None
    name = (member or {}).get("nick") or person.get("global_name") or person["username"]
    return Inbound(
        address=address_of(str(interaction["channel_id"]), private=private, parent=parent),
        event_id=f"{bot}:{interaction['id']}",
        person_id=f"{PLATFORM}:{snowflake(person['id'])}",
        person_name=str(name),
        text="",
        sent_at=moment_of(str(interaction["id"])),
        private=private,
        addressed=True,
        space=None if private else str(interaction["guild_id"]),
        language=interaction.get("locale"),
    )
