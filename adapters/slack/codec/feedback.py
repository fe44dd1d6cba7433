"""Thumbs below an answer on Slack: buttons, and what a press of one means. Pure: no I/O, no library of Slack's."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from adapters.adapter import Inbound
from adapters.decoding import DOWN, UP
from adapters.slack.codec.addresses import PLATFORM, SlackBot
from adapters.slack.codec.interactions import thread_of
from adapters.slack.limits import MAX_BUTTON_LABEL
from runtime.core.address import Address
from runtime.core.message import Rating
from runtime.core.texts import Texts

FEEDBACK_ACTION: Final = "feedback"
_MARKS: Final[Mapping[str, tuple[Rating, str]]] = {"up": ("up", UP), "down": ("down", DOWN)}


def feedback_block(texts: Texts) -> dict[str, Any]:
    """The buttons (Block Kit reference, context actions block and feedback buttons element)."""
    buttons: dict[str, Any] = {"type": "feedback_buttons", "action_id": FEEDBACK_ACTION}
    for name, value in (("positive_button", "up"), ("negative_button", "down")):
        buttons[name] = {
            "text": {"type": "plain_text", "text": _MARKS[value][1]},
            "value": value,
            "accessibility_label": texts(f"feedback.{value}")[:MAX_BUTTON_LABEL],
        }
    return {"type": "context_actions", "elements": [buttons]}


def rated_in(body: Mapping[str, Any], event_id: str, bot: SlackBot, now: datetime) -> Inbound:
    """The rating that a person gave by a button, as a reaction. Raises as `pressed`."""
    action, container, user = body["actions"][0], body["container"], body["user"]
    channel = container["channel_id"]
    rating, mark = _MARKS[action["value"]]
    return Inbound(
        address=Address(PLATFORM, f"{bot.team_id}:{channel}", thread_of(body)),
        event_id=event_id,
        person_id=f"{PLATFORM}:{bot.team_id}:{user['id']}",
        person_name=user.get("name") or user["id"],
        text=mark,
        sent_at=now,
        private=channel.startswith("D"),
        addressed=True,
        act="reaction",
        message_id=container["message_ts"],
        space=bot.team_id,
        outsider=not bot.knows(user.get("team_id")),
        rating=rating,
    )
