"""A message of Slack's history as what was said before. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from adapters.adapter import Inbound
from adapters.slack.codec.addresses import PLATFORM, SlackBot, SlackPerson, mentioned_in
from adapters.slack.codec.block_text import text_of_blocks
from adapters.slack.codec.brought import files_of, quotes_of, shown_by, tables_of, wordless_of
from adapters.slack.codec.events import SLACKBOT, attached_files, is_said
from runtime.core.address import Address

_Json: TypeAlias = Mapping[str, Any]


def is_told(message: _Json) -> bool:
    """Whether a message says something: a person's, a bot's, or that there was a huddle."""
    return bool(message.get("bot_id") or message.get("room")) or is_said({**message, "type": "message"})


def people_in(message: _Json) -> list[str]:
    """The ids of the author and of those who are mentioned."""
    author = [] if message.get("bot_id") or not message.get("user") else [str(message["user"])]
    return [*author, *mentioned_in(message.get("text") or "")]


def earlier_of(message: _Json, to: Address, bot: SlackBot, people: Mapping[str, SlackPerson]) -> Inbound:
    """What was said. Raises as all that reads messages."""
    shown = shown_by(bot, {user: person.name for user, person in people.items()})
    is_bot = bool(message.get("bot_id") or message.get("user") == SLACKBOT)
    user = str(message.get("user", ""))
    who = None if is_bot else people.get(user)
    blocks = text_of_blocks(message.get("blocks") or (), shown) if is_bot else ""
    written = (blocks,) if blocks else (shown(message.get("text") or ""), tables_of(message, shown))
    text = "\n".join(part for part in (*written, wordless_of(message)) if part)
    name = message.get("username") or (message.get("bot_profile") or {}).get("name") or "bot"
    team = message.get("user_team") or message.get("team") or (who.team if who is not None else None)
    files = (*(message.get("files") or ()), *files_of(message))
    return Inbound(
        address=to,
        event_id="",
        person_id="" if is_bot else f"{PLATFORM}:{bot.team_id}:{user}",
        person_name=str(name) if is_bot else who.name if who is not None else user,
        text=text,
        sent_at=datetime.fromtimestamp(float(message["ts"]), UTC),
        private=False,
        addressed=False,
        attachments=tuple(attached_files(files, bot.team_id)),
        message_id=str(message["ts"]),
        around=quotes_of(message, bot, shown),
        space=bot.team_id,
        outsider=not is_bot and not bot.knows(team),
    )
