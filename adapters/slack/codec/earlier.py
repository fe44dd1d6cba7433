"""A message of Slack's history as what was said before. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from adapters.adapter import Inbound
from adapters.decoding import GONE
from adapters.slack.codec.addresses import PLATFORM, SlackBot, SlackPerson, mentioned_in
from adapters.slack.codec.brought import files_of, quotes_of, said_in, shown_by, wordless_of
from adapters.slack.codec.events import SLACKBOT, attached_files, is_said
from runtime.core.address import Address

_Json: TypeAlias = Mapping[str, Any]


def is_told(message: _Json) -> bool:
    """Whether a message says something: a person's, a bot's, that there was a huddle, or that a message is gone."""
    told = message.get("bot_id") or message.get("room") or _is_gone(message)
    return bool(told) or is_said({**message, "type": "message"})


def _is_gone(message: _Json) -> bool:
    """Whether a message stands for one that was deleted: of a thread that began with it."""
    return message.get("subtype") == "tombstone"


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
    text = "\n".join(filter(None, (said_in(message, shown, of_bot=is_bot), wordless_of(message))))
    text = GONE if _is_gone(message) else text
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
