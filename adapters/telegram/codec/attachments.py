"""Files that come with messages, and the kinds under which files are sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from adapters.adapter import FileData
from adapters.telegram.codec.addresses import Json
from adapters.telegram.codec.wordless import blocks_in
from adapters.telegram.limits import MAX_PHOTO_BYTES
from runtime.core.message import Attachment

SCHEME: Final = "telegram-file:"

MAX_ALBUM: Final = 10
"""The most files of an album (Bot API, sendMediaGroup)."""
AlbumId: TypeAlias = tuple[int, str]
_FILE_KINDS: Mapping[str, tuple[str, str]] = {
    "document": ("document.bin", "application/octet-stream"),
    "animation": ("animation.mp4", "video/mp4"),
    "audio": ("audio.mp3", "audio/mpeg"),
    "voice": ("voice.ogg", "audio/ogg"),
    "voice_note": ("voice.ogg", "audio/ogg"),
    "video": ("video.mp4", "video/mp4"),
    "video_note": ("video.mp4", "video/mp4"),
    "sticker": ("sticker.webp", "image/webp"),
}

_SENT_AS: Mapping[str, str] = {
    "image/jpeg": "Photo",
    "image/png": "Photo",
    "image/webp": "Photo",
    "video/mp4": "Video",
    "audio/mpeg": "Audio",
    "audio/mp4": "Audio",
    "audio/ogg": "Voice",
}
"""The kinds that Telegram plays or shows in the chat (Bot API, sendPhoto, sendVideo, sendAudio, sendVoice)."""


class FileRef(Struct, frozen=True):
    """A file on Telegram's servers. Its id is valid for the bot that received it. `bot_id` None is the main bot."""

    file_id: str
    bot_id: int | None = None

    @classmethod
    def read(cls, url: str) -> FileRef:
        """The inverse of `url`. Raises ValueError for any other address."""
        if not url.startswith(SCHEME):
            raise ValueError(f"{url} is not a file on Telegram")
        bot_id, _, file_id = url.removeprefix(SCHEME).rpartition("/")
        return cls(file_id, int(bot_id) if bot_id else None)

    @property
    def url(self) -> str:
        return SCHEME + (self.file_id if self.bot_id is None else f"{self.bot_id}/{self.file_id}")


def kind_of(file: FileData) -> str:
    """The kind under which a file is sent: `Photo`, `Video`, `Audio`, `Voice` or `Document`."""
    kind = _SENT_AS.get(file.media_type.partition(";")[0].strip().casefold(), "Document")
    return "Document" if kind == "Photo" and len(file.data) > MAX_PHOTO_BYTES else kind


def attachments_of(message: Json, bot_id: int | None) -> Iterator[Attachment]:
    poll = message.get("poll") or {}
    yield from _files_of(message, bot_id)
    for holder in (poll, *(poll.get("options") or ())):
        yield from _files_of(holder.get("media") or {}, bot_id)
    for block in blocks_in(message):
        yield from _files_of(block, bot_id)


def _files_of(message: Json, bot_id: int | None) -> Iterator[Attachment]:
    """The files; of a photo its largest size. A sticker that moves is none that could be read."""
    if message.get("photo"):
        yield _attachment(message["photo"][-1], "photo.jpg", "image/jpeg", bot_id)
    for kind, (name, media_type) in _FILE_KINDS.items():
        file = message.get(kind) or {}
        moves = file.get("is_animated") or file.get("is_video")
        if file and not moves and not (kind == "document" and "animation" in message):
            yield _attachment(file, name, media_type, bot_id)


def _attachment(file: Json, name: str, media_type: str, bot_id: int | None) -> Attachment:
    return Attachment(
        name=file.get("file_name", name),
        media_type=file.get("mime_type", media_type),
        url=FileRef(file["file_id"], bot_id).url,
        size_bytes=file.get("file_size"),
    )


def albums(updates: Sequence[Json]) -> list[list[Json]]:
    """The updates in order, with those of one album in one list. Telegram sends each file of an album as a message."""
    bundles: list[list[Json]] = []
    for update in updates:
        album = album_of(update)
        if bundles and album is not None and album == album_of(bundles[-1][-1]):
            bundles[-1].append(update)
        else:
            bundles.append([update])
    return bundles


def growing_album(bundles: Sequence[Sequence[Json]]) -> int | None:
    """The first update of an album at the end that may have more to come; None where there is none."""
    if not bundles or album_of(bundles[-1][0]) is None or len(bundles[-1]) >= MAX_ALBUM:
        return None
    return int(bundles[-1][0]["update_id"])


def album_of(update: Json) -> AlbumId | None:
    """The album to which an update's file belongs; None too where the update is not understood."""
    message = update.get("message")
    chat = message.get("chat") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(chat, Mapping) or "media_group_id" not in message:
        return None
    chat_id, group = chat.get("id"), message["media_group_id"]
    return (chat_id, group) if isinstance(chat_id, int) and isinstance(group, str) else None
