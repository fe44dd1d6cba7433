"""A message in Discord's form: text, people to ping, choices, the answered message, a file or a voice message. Pure.

Voice messages: docs.discord.com/developers/resources/message, Attachment Object and Message Flags (IS_VOICE_MESSAGE).
One sound, no text beside it, never edited.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from adapters.adapter import FileData
from adapters.discord.limits import MAX_BUTTON_LABEL, MAX_BUTTONS, MAX_FILE_WORDS, MAX_OPTIONS
from runtime.core.message import Choice

SUPPRESS_EMBEDS = 1 << 2
MENU = "parley.menu."
"""The prefix of a menu's id; the chosen option is its value."""
_ROW, _BUTTON, _MENU = 1, 2, 3
_SECONDARY = 2
_BUTTONS_A_ROW = 5

IS_VOICE_MESSAGE: Final = 1 << 13
MAX_POINTS: Final = 256
"""The points of a waveform; Discord's clients take one for each tenth of a second, up to these."""
_HEAD_BYTES: Final = 27
_SAMPLES_A_SECOND: Final = 48_000
_MAX_PAGES: Final = 100_000


class VoiceNote(Struct, frozen=True):
    """The length of a recording in seconds, and its waveform in Base64."""

    seconds: float
    waveform: str

    @property
    def form(self) -> dict[str, Any]:
        """What makes an attachment in the body of a posting call a voice message."""
        return {"duration_secs": round(self.seconds, 2), "waveform": self.waveform}


def voice_note(file: FileData) -> VoiceNote | None:
    """The file as a voice message, its packets' sizes as waveform; None unless it is Ogg with Opus."""
    data = file.data
    if file.media_type != "audio/ogg" or data[28:36] != b"OpusHead":
        return None
    samples, sizes = 0, list[int]()
    for granule, packets in _pages(data):
        samples = max(samples, granule)
        sizes += packets
    seconds = max(0.0, (samples - int.from_bytes(data[38:40], "little")) / _SAMPLES_A_SECOND)
    return VoiceNote(seconds, _waveform(sizes[2:], seconds)) if seconds else None


def _pages(data: bytes) -> Iterator[tuple[int, list[int]]]:
    """Of each page, how many samples have come by its end, and the sizes of the packets that end in it."""
    at, open_bytes = 0, 0
    for _ in range(_MAX_PAGES):
        if data[at : at + 4] != b"OggS" or at + _HEAD_BYTES > len(data):
            return
        lacing = data[at + _HEAD_BYTES : at + _HEAD_BYTES + data[at + 26]]
        packets = []
        for size in lacing:
            open_bytes += size
            if size < 255:
                packets.append(open_bytes)
                open_bytes = 0
        yield int.from_bytes(data[at + 6 : at + 14], "little", signed=True), packets
        at += _HEAD_BYTES + len(lacing) + sum(lacing)


def _waveform(sizes: list[int], seconds: float) -> str:
    points = max(1, min(MAX_POINTS, round(seconds * 10), len(sizes)))
    groups = [sizes[len(sizes) * n // points : len(sizes) * (n + 1) // points] or [0] for n in range(points)]
    loudness = [sum(group) / len(group) for group in groups]
    loudest = max(loudness) or 1.0
    return base64.b64encode(bytes(round(255 * value / loudest) for value in loudness)).decode("ascii")


class DiscordWords(Struct, frozen=True):
    """A text in Discord's form, and the ids of the people it may ping."""

    text: str
    pings: frozenset[str] = frozenset()

    def under(self, heading: str) -> DiscordWords:
        return replace(self, text=f"{heading}\n{self.text}")


class Name(Struct, frozen=True):
    name: str
    avatar_url: str | None = None


class DiscordPost(Struct, frozen=True):
    """A new message. `reply_to` and `nonce` are for the bot's own, `name` is for a webhook's. With `voice`, the file is
    a voice message and has no text beside it."""

    words: DiscordWords
    nonce: str = ""
    reply_to: str | None = None
    name: Name | None = None
    file: FileData | None = None
    voice: VoiceNote | None = None

    @property
    def trace(self) -> str:
        """The data by which the message is recognised among others of its author."""
        return _trace(self.words.text, self.file.name if self.file is not None else "")


def trace_of(message: dict[str, Any]) -> str:
    files = message.get("attachments") or [{}]
    return _trace(message["content"], files[0].get("filename", ""))


def post_data(post: DiscordPost) -> dict[str, Any]:
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


def _attachment(file: FileData, voice: VoiceNote | None) -> dict[str, Any]:
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
        button = {"type": _BUTTON, "style": _SECONDARY}
        return [
            _row([button | {"label": one.label[:MAX_BUTTON_LABEL], "custom_id": one.id} for one in row])
            for row in _batches(choices, _BUTTONS_A_ROW)
        ]
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


def _menu(number: int, choices: Sequence[Choice]) -> dict[str, Any]:
    options = [{"label": choice.label[:MAX_BUTTON_LABEL], "value": choice.id} for choice in choices]
    return {"type": _MENU, "custom_id": f"{MENU}{number}", "options": options}
