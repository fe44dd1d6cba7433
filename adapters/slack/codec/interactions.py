"""Slash commands, presses and forms in our words, and our own forms. Pure: no I/O, no library of Slack's."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from adapters.adapter import Inbound
from adapters.slack.codec.addresses import PLATFORM, SlackBot
from runtime.core.address import Address
from runtime.core.texts import Texts

SLASH_COMMAND: Final = "/parley"
FORM: Final = "parley_new"
"""The form for a longer first message."""
ANSWER_FORM: Final = "parley_answer"
"""The form for the answer to a question."""
MAX_FORM_LABEL: Final = 2000
"""Most characters above a form's text field (Block Kit reference, input block)."""
FORM_CHARS: Final = 3000
"""Most characters of a form's text field (Block Kit reference, plain text input)."""
MAX_FORM_TITLE: Final = 24
"""Most characters of a form's title and of its buttons (docs.slack.dev, modal views)."""

_Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """`/parley name argument` in a channel; Slack does not tell the thread, and takes no slash command inside one."""

    name: str
    argument: str
    channel: str
    user: str
    user_name: str
    trigger_id: str
    team: str | None = None


def slash_command_in(body: _Json, commands: Collection[str]) -> SlashCommand:
    """The command; its name is empty if the text is no command of ours but a message. Raises KeyError."""
    name, _, argument = (body.get("text") or "").strip().partition(" ")
    known = name.casefold() or "help"
    if known not in commands:
        known, argument = "", f"{name} {argument}"
    who = body.get("user_name") or body["user_id"]
    return SlashCommand(known, argument.strip(), body["channel_id"], body["user_id"], who, body["trigger_id"])


def pressed(body: _Json, event_id: str, bot: SlackBot, now: datetime) -> Inbound:
    """The choice that a person pressed. Raises KeyError, TypeError or AttributeError for other forms."""
    action, container = body["actions"][0], body["container"]
    channel, user = container["channel_id"], body["user"]
    return Inbound(
        address=Address(PLATFORM, f"{bot.team_id}:{channel}", thread_of(body)),
        event_id=event_id,
        person_id=f"{PLATFORM}:{bot.team_id}:{user['id']}",
        person_name=user.get("name") or user["id"],
        text=action["text"]["text"],
        sent_at=now,
        private=channel.startswith("D"),
        addressed=True,
        act="choice",
        message_id=container["message_ts"],
        space=bot.team_id,
        choice=action["value"],
        outsider=not bot.knows(user.get("team_id")),
    )


def thread_of(body: _Json) -> str | None:
    """The thread of the message with the pressed button, which Slack gives in one of two places."""
    told = body["container"].get("thread_ts") or (body.get("message") or {}).get("thread_ts")
    return None if told is None else str(told)


@dataclass(frozen=True, slots=True)
class Wish:
    """A person's wish to write an answer. `channel` and `thread` are the place; the form opens with `trigger_id`.
    `choice` is the id of the choice for the answer.
    """

    channel: str
    thread: str | None
    user: str
    user_name: str
    trigger_id: str
    team: str | None
    choice: str


def wish_in(body: _Json) -> Wish:
    """A press of a button that opens a form for an answer. Raises as `pressed`."""
    action, at, user = body["actions"][0], body["container"], body["user"]
    name = user.get("name") or user["id"]
    return Wish(
        at["channel_id"], thread_of(body), user["id"], name, body["trigger_id"], user.get("team_id"), action["value"]
    )


@dataclass(frozen=True, slots=True)
class Submission:
    """A submitted form: its text, its author, and its channel or thread."""

    text: str
    channel: str
    user: str
    user_name: str
    thread: str | None
    answers: bool
    team: str | None
    choice: str | None


def submission_in(body: _Json) -> Submission:
    """The submitted form. Raises as `pressed`."""
    view, user = body["view"], body["user"]
    text = (view["state"]["values"]["text"]["text"]["value"] or "").strip()
    channel, thread, choice = [*view["private_metadata"].split("/", 2), "", ""][:3]
    name = user.get("name") or user["id"]
    answers = view["callback_id"] == ANSWER_FORM
    return Submission(text, channel, user["id"], name, thread or None, answers, user.get("team_id"), choice or None)


def new_form(channel: str, texts: Texts) -> dict[str, Any]:
    """A form for a longer start of a conversation."""
    return _form(FORM, channel, texts("forms.new"), texts("forms.about"), texts)


def answer_form(wish: Wish, texts: Texts) -> dict[str, Any]:
    """A form for an answer."""
    label = texts("forms.answering")
    return _form(ANSWER_FORM, f"{wish.channel}/{wish.thread or ''}/{wish.choice}", label, label, texts)


def _form(name: str, place: str, title: str, label: str, texts: Texts) -> dict[str, Any]:
    field = {"type": "plain_text_input", "action_id": "text", "multiline": True, "max_length": FORM_CHARS}
    return {
        "type": "modal",
        "callback_id": name,
        "private_metadata": place,
        "title": _label(title, MAX_FORM_TITLE),
        "submit": _label(texts("forms.send"), MAX_FORM_TITLE),
        "close": _label(texts("forms.cancel"), MAX_FORM_TITLE),
        "blocks": [
            {
                "type": "input",
                "block_id": "text",
                "label": _label(label, MAX_FORM_LABEL),
                "element": field,
            }
        ],
    }


def in_form(text: str) -> dict[str, Any]:
    """Words below the field of a refused form (docs.slack.dev, modals: displaying errors in views)."""
    return {"response_action": "errors", "errors": {"text": text}}


def _label(text: str, most: int) -> dict[str, str]:
    return {"type": "plain_text", "text": text[:most]}


def only_you(text: str) -> dict[str, Any]:
    """Words that only the author of a command sees."""
    return {"response_type": "ephemeral", "text": text}
