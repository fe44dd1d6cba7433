"""Our addresses, speakers and texts in Slack's form, and Slack's texts in ours. Pure; no library of Slack's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from adapters.capabilities import measure_utf16
from adapters.markdown.paging import split_pages
from adapters.slack.codec.markup import render, render_parts
from adapters.slack.codec.mentions import bold
from adapters.slack.limits import MAX_BUTTON_LABEL, MAX_SECTION_UNITS, SECTION_TEXT_UNITS
from runtime.core.address import Address, Speaker
from runtime.core.message import Choice

PLATFORM = "slack"
CHOICE_ACTION = "choice:"
ANSWER_ACTION = "answer:"
MAX_BLOCK_ID = 255
MAX_TASK_TITLE = 100
"""The number of characters shown of what is being done; Slack names no limit."""
MAX_NAME = 64
_REFERENCE = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
_AFTER_MENTION = re.compile(r"\s*[,:]?\s*")
_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")


class SlackBot(Struct, frozen=True):
    team_id: str
    team: str
    user_id: str
    bot_id: str
    name: str

    def knows(self, team: str | None) -> bool:
        """Whether a person belongs to this workspace; members of others take part in shared channels."""
        return team in (None, self.team_id)


class SlackPerson(Struct, frozen=True):
    """A person's name, their language in Slack's form (`de-DE`), and their workspace."""

    name: str
    language: str | None = None
    team: str | None = None


class AuthorFace(Struct, frozen=True):
    username: str
    icon_emoji: str


def channel_of(address: Address) -> str:
    """The channel's id. Raises ValueError for an address that is not ours."""
    _, separator, channel = address.conversation.partition(":")
    if not separator or not channel:
        raise ValueError(f"{address.conversation!r} is not a workspace and a channel")
    return channel


def is_private(address: Address) -> bool:
    """Whether this is a conversation of two, whose id starts with D."""
    return channel_of(address).startswith("D")


def shown_name(speaker: Speaker) -> str | None:
    """The name of an agent's messages; None for the gateway itself (id "")."""
    name = " ".join(speaker.name.split())[:MAX_NAME]
    return name if speaker.id and name else None


def team_of(address: Address) -> str:
    return address.conversation.partition(":")[0]


def blocks_of(
    text: str, heading: str | None, choices: Sequence[Choice] = (), *, tables: bool = False
) -> list[dict[str, Any]]:
    """CommonMark as the blocks of a message: sections of mrkdwn, under a bold line with the speaker's name where there
    is one, and a row of buttons for the choices. With `tables`, the first table is a block of its own.

    A section shows without the word "edited" under it, whole, and with no names made links.
    """
    line = "" if heading is None else f"{bold(heading)}\n"
    fits = measure_utf16(text) <= SECTION_TEXT_UNITS
    pages = [text] if fits else split_pages(text, SECTION_TEXT_UNITS, measure_utf16)
    blocks = list[dict[str, Any]]()
    for page in pages:
        room = MAX_SECTION_UNITS - measure_utf16(line)
        parts = render_parts(page, room) if tables and fits else [render(page, room)]
        for part in parts if isinstance(parts[0], str) or not line else ["", *parts]:
            blocks.append(_section(line + part) if isinstance(part, str) else part)
            line = ""
    return [*blocks, _buttons(choices)] if choices else blocks


def _section(mrkdwn: str) -> dict[str, Any]:
    return {"type": "section", "expand": True, "text": {"type": "mrkdwn", "text": mrkdwn, "verbatim": True}}


def task_card(task: str, doing: str, status: str = "in_progress") -> dict[str, Any]:
    """What is being done (Block Kit reference, task card block)."""
    return {"type": "task_card", "task_id": task[:MAX_BLOCK_ID], "title": doing[:MAX_TASK_TITLE], "status": status}


def plan_block(title: str, tasks: Sequence[tuple[str, str, bool]]) -> dict[str, Any]:
    """What several do and did (Block Kit reference, plan block): each task's id and title, and whether it goes on."""
    cards = [task_card(task, doing, "in_progress" if active else "complete") for task, doing, active in tasks]
    return {"type": "plan", "title": title[:MAX_TASK_TITLE], "tasks": cards}


def _buttons(choices: Sequence[Choice]) -> dict[str, Any]:
    """The id of an action must be unique in its block."""
    elements = [
        {
            "type": "button",
            "action_id": f"{ANSWER_ACTION if choice.free else CHOICE_ACTION}{choice.id}",
            "value": choice.id,
            "text": {"type": "plain_text", "text": choice.label[:MAX_BUTTON_LABEL], "emoji": False},
        }
        for choice in choices
    ]
    return {"type": "actions", "block_id": "choices", "elements": elements}


def plain_text(text: str, bot_user: str, names: Mapping[str, str]) -> str:
    """The text as people read it, without mentions of the bot; one at the start takes its comma or colon along."""
    kept, position = "", 0
    for found in _REFERENCE.finditer(text):
        kept = _joined(kept, text[position : found.start()])
        position = found.end()
        if found[1] == f"@{bot_user}":
            if not kept.strip() and (punctuation := _AFTER_MENTION.match(text, position)):
                kept, position = "", punctuation.end()
            continue
        kept += _shown(found[1], found[2], names)
    kept = _joined(kept, text[position:])
    return kept.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").strip()


def _joined(before: str, after: str) -> str:
    """The text without the second of two spaces around a removed mention."""
    return before + (after[1:] if before[-1:].isspace() and after[:1] == " " else after)


def _shown(target: str, label: str | None, names: Mapping[str, str]) -> str:
    """A reference in angle brackets as people read it (docs.slack.dev, formatting message text)."""
    if target.startswith("@"):
        return f"@{names.get(target[1:]) or label or target[1:]}"
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    address = target.removeprefix("mailto:").removeprefix("tel:")
    if not label or label in address:
        return address
    return f"{label} ({target})"


def mentioned_in(text: str) -> list[str]:
    return _MENTION.findall(text)
