"""Slash commands, presses, forms and thumbs in our words, and our own forms and thumbs. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from adapters.adapter import Inbound
from adapters.decoding import DOWN, UP
from adapters.slack.codec.addresses import PLATFORM, SlackBot
from adapters.slack.limits import MAX_BUTTON_LABEL
from runtime.core.address import Address
from runtime.core.message import Rating
from runtime.core.texts import Texts

SLASH_COMMAND: Final = "/parley"
FORM: Final = "parley_new"
ANSWER_FORM: Final = "parley_answer"
MAX_FORM_LABEL: Final = 2000
"""Most characters above a form's text field (Block Kit reference, input block)."""
FORM_CHARS: Final = 3000
"""Most characters of a form's text field (Block Kit reference, plain text input)."""
MAX_FORM_TITLE: Final = 24
"""Most characters of a form's title and of its buttons (docs.slack.dev, modal views)."""
_Json: TypeAlias = Mapping[str, Any]

FEEDBACK_ACTION: Final = "feedback"
_MARKS: Final[Mapping[str, tuple[Rating, str]]] = {"up": ("up", UP), "down": ("down", DOWN)}


class SlackEntry(Struct, frozen=True):
    """What a person gave by `/parley name argument`, by a form, or by a button that opens one. `name` is empty for what
    is no command.

    `thread` is where the form's button was: Slack does not tell that of a slash command, and takes none inside a
    thread. A form opens with `trigger_id`; `answers`: it is the answer to a question, for the choice with id `choice`.
    """

    name: str
    argument: str
    channel: str
    user: str
    user_name: str
    trigger_id: str = ""
    team: str | None = None
    thread: str | None = None
    choice: str | None = None
    answers: bool = False


def slash_command_in(body: _Json, commands: Collection[str]) -> SlackEntry:
    """The command; its name is empty if the text is no command of ours but a message. Raises KeyError."""
    name, _, argument = (body.get("text") or "").strip().partition(" ")
    known = name.casefold() or "help"
    if known not in commands:
        known, argument = "", f"{name} {argument}"
    who = body.get("user_name") or body["user_id"]
    return SlackEntry(known, argument.strip(), body["channel_id"], body["user_id"], who, body["trigger_id"])


def wish_in(body: _Json) -> SlackEntry:
    """A press of a button that opens a form for an answer. Raises as `pressed`."""
    at, trigger, choice = body["container"], body["trigger_id"], body["actions"][0]["value"]
    return SlackEntry(
        "", "", at["channel_id"], *_who(body), trigger, body["user"].get("team_id"), _thread_of(body), choice
    )


def submission_in(body: _Json) -> SlackEntry:
    """The submitted form. Raises as `pressed`."""
    view = body["view"]
    text = (view["state"]["values"]["text"]["text"]["value"] or "").strip()
    channel, thread, choice = [*view["private_metadata"].split("/", 2), "", ""][:3]
    team, answers = body["user"].get("team_id"), view["callback_id"] == ANSWER_FORM
    return SlackEntry("", text, channel, *_who(body), "", team, thread or None, choice or None, answers)


def pressed(body: _Json, event_id: str, bot: SlackBot, now: datetime) -> Inbound:
    """The choice that a person pressed, or the rating by a button, which is a reaction. Raises NOT_UNDERSTOOD."""
    action, channel = body["actions"][0], body["container"]["channel_id"]
    user, name = _who(body)
    press = Inbound(
        address=Address(PLATFORM, f"{bot.team_id}:{channel}", _thread_of(body)),
        event_id=event_id,
        person_id=f"{PLATFORM}:{bot.team_id}:{user}",
        person_name=name,
        text="",
        sent_at=now,
        private=channel.startswith("D"),
        addressed=True,
        message_id=body["container"]["message_ts"],
        space=bot.team_id,
        outsider=not bot.knows(body["user"].get("team_id")),
    )
    if action["action_id"] == FEEDBACK_ACTION:
        rating, mark = _MARKS[action["value"]]
        return replace(press, act="reaction", text=mark, rating=rating)
    return replace(press, act="choice", text=action["text"]["text"], choice=action["value"])


def _who(body: _Json) -> tuple[str, str]:
    user = body["user"]
    return user["id"], user.get("name") or user["id"]


def _thread_of(body: _Json) -> str | None:
    """The thread of the message with the pressed button, which Slack gives in one of two places."""
    told = body["container"].get("thread_ts") or (body.get("message") or {}).get("thread_ts")
    return None if told is None else str(told)


def new_form(channel: str, texts: Texts) -> dict[str, Any]:
    return _form(FORM, channel, texts("forms.new"), texts("forms.about"), texts)


def answer_form(wish: SlackEntry, texts: Texts) -> dict[str, Any]:
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
        "blocks": [{"type": "input", "block_id": "text", "label": _label(label, MAX_FORM_LABEL), "element": field}],
    }


def in_form(text: str) -> dict[str, Any]:
    """Words below the field of a refused form (docs.slack.dev, modals: displaying errors in views)."""
    return {"response_action": "errors", "errors": {"text": text}}


def _label(text: str, most: int) -> dict[str, str]:
    return {"type": "plain_text", "text": text[:most]}


def only_you(text: str) -> dict[str, Any]:
    return {"response_type": "ephemeral", "text": text}


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
