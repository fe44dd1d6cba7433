"""A message in Discord's form: text, people to ping, choices, the answered message, a file. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adapters.adapter import File
from adapters.discord.codec.voice_notes import IS_VOICE_MESSAGE, VoiceNote
from adapters.discord.limits import MAX_BUTTON_LABEL, MAX_BUTTONS, MAX_FILE_WORDS, MAX_OPTIONS
from runtime.core.message import Choice

SUPPRESS_EMBEDS = 1 << 2
MENU = "parley.menu."
"""The prefix of a menu's id; the chosen option is its value."""

_ROW, _BUTTON, _MENU = 1, 2, 3
_SECONDARY = 2
_BUTTONS_A_ROW = 5


@dataclass(frozen=True, slots=True)
class DiscordWords:
    """A text in Discord's form, and the ids of the people it may ping."""

    text: str
    pings: frozenset[str] = frozenset()

    def under(self, heading: str) -> DiscordWords:
        """The message below a separate line."""
        return replace(self, text=f"{heading}\n{self.text}")


@dataclass(frozen=True, slots=True)
class Name:
    """The name and picture under which a webhook speaks."""

    name: str
    avatar_url: str | None = None


@dataclass(frozen=True, slots=True)
class Post:
    """A new message. `reply_to` and `nonce` are for the bot's own, `name` is for a webhook's. With `voice`, the file is
    a voice message and has no text beside it."""

    words: DiscordWords
    nonce: str = ""
    reply_to: str | None = None
    name: Name | None = None
    file: File | None = None
    voice: VoiceNote | None = None

    @property
    def trace(self) -> str:
        """The data by which the message is recognised among others of its author."""
        return _trace(self.words.text, self.file.name if self.file is not None else "")


def trace_of(message: dict[str, Any]) -> str:
    """The trace of a message in Discord's form."""
    files = message.get("attachments") or [{}]
    return _trace(message["content"], files[0].get("filename", ""))


def post_data(post: Post) -> dict[str, Any]:
    """The body of a posting call."""
    data = text_data(post.words) | {"flags": SUPPRESS_EMBEDS}
    if post.name is not None:
        data["username"] = post.name.name
        if post.name.avatar_url is not None:
            data["avatar_url"] = post.name.avatar_url
    if post.nonce:
        data |= {"nonce": post.nonce, "enforce_nonce": True}
    if post.reply_to is not None:
        data["message_reference"] = {"message_id": post.reply_to, "fail_if_not_exists": False}
    if post.file is not None:
        data["attachments"] = [_attachment(post.file, post.voice)]
    if post.voice is not None:
        data["flags"] = IS_VOICE_MESSAGE
        del data["content"]
    return data


def _attachment(file: File, voice: VoiceNote | None) -> dict[str, Any]:
    """The only file of a call. Its id is its place among the files, as a text (Discord's OpenAPI, SnowflakeType)."""
    told: dict[str, Any] = {"id": "0", "filename": file.name}
    if file.alt:
        told["description"] = file.alt[:MAX_FILE_WORDS]
    return told if voice is None else told | voice.form


def text_data(words: DiscordWords) -> dict[str, Any]:
    """The part of a body with the text. Nobody is pinged whom the text does not mention."""
    allowed: dict[str, Any] = {"parse": [], "replied_user": False}
    if words.pings:
        allowed["users"] = sorted(words.pings)
    return {"content": words.text, "allowed_mentions": allowed}


def choice_rows(choices: Sequence[Choice]) -> list[dict[str, Any]]:
    """Buttons, or menus if there are too many for buttons; an empty list removes all."""
    if len(choices) <= MAX_BUTTONS:
        return [_row([_button(choice) for choice in row]) for row in _batches(choices, _BUTTONS_A_ROW)]
    menus = enumerate(_batches(choices, MAX_OPTIONS))
    return [_row([_menu(number, part)]) for number, part in menus]


def labels(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The choices below a message of ours: id and label."""
    for row in message.get("components", ()):
        for each in row.get("components", ()):
            if each.get("type") == _BUTTON and "custom_id" in each:
                yield each["custom_id"], each.get("label", "")
            for option in each.get("options", ()):
                yield option["value"], option["label"]


def _trace(text: str, file: str) -> str:
    return f"{text.strip()}\0{file}"


def _batches(choices: Sequence[Choice], size: int) -> Iterator[Sequence[Choice]]:
    return (choices[at : at + size] for at in range(0, len(choices), size))


def _row(components: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": _ROW, "components": components}


def _button(choice: Choice) -> dict[str, Any]:
    return {"type": _BUTTON, "style": _SECONDARY, "label": choice.label[:MAX_BUTTON_LABEL], "custom_id": choice.id}


def _menu(number: int, choices: Sequence[Choice]) -> dict[str, Any]:
    options = [{"label": choice.label[:MAX_BUTTON_LABEL], "value": choice.id} for choice in choices]
    return {"type": _MENU, "custom_id": f"{MENU}{number}", "options": options}
