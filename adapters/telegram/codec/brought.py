"""What a message of Telegram's brings: what it answers, in its chat or elsewhere, and where it was passed on from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from adapters.telegram.codec.addresses import PLATFORM, Json
from adapters.telegram.codec.attachments import attachments_of
from adapters.telegram.codec.entities import formatted
from adapters.telegram.codec.envelope import name_of
from adapters.telegram.codec.rich_content import rich_text_of
from adapters.telegram.codec.wordless import wordless_of
from runtime.core.message import Attachment
from runtime.core.quote import Quote

_NOTHING: Final[Json] = {}


def words_of(message: Json) -> str:
    """All that stands in a message, with the line for what is no text."""
    text = message.get("text", message.get("caption", ""))
    own = formatted(text, message.get("entities", message.get("caption_entities", ())))
    return "\n".join(part for part in (own, rich_text_of(message), wordless_of(message)) if part)


def answered_by(message: Json) -> Json | None:
    """The message, or the story, that a message answers. In a topic everything answers the message that opened it."""
    if "reply_to_story" in message:
        return {"story": message["reply_to_story"]}
    replied = message.get("reply_to_message", message.get("external_reply"))
    return None if replied is None or "forum_topic_created" in replied else dict(replied)


def quoted_in(message: Json, known_as: str) -> Quote | None:
    """What a message answers: the piece that was chosen of it, else the whole. `known_as` is its id."""
    replied = answered_by(message)
    if replied is None:
        return None
    chosen = message.get("quote", _NOTHING)
    text = formatted(chosen["text"], chosen.get("entities", ())) if chosen else _pointed(words_of(replied), message)
    author, person = _author(replied)
    files = tuple(file.name for file in attachments_of(replied, None))
    inside = tuple(quote for quote in (forwarded_in(replied, ""), quoted_in(replied, "")) if quote)
    return Quote(known_as, author, text, files=files, inside=inside, person=person)


def _pointed(text: str, message: Json) -> str:
    """The text of what is answered, with the task of a checklist or the option of a poll that is pointed at."""
    replied = answered_by(message) or _NOTHING
    tasks = replied.get("checklist", _NOTHING).get("tasks", ())
    options = replied.get("poll", _NOTHING).get("options", ())
    task, option = message.get("reply_to_checklist_task_id"), message.get("reply_to_poll_option_id")
    pointed = [one["text"] for one in tasks if task is not None and one["id"] == task]
    pointed += [one["text"] for one in options if option is not None and one.get("persistent_id") == option]
    return "\n".join([text, *(f"[here: “{one}”]" for one in pointed)])


def files_answered(message: Json, bot_id: int | None, *, ours: bool) -> list[Attachment]:
    """The files of what a message answers; of our own, which speak, no recordings."""
    files = attachments_of(answered_by(message) or _NOTHING, bot_id)
    return [replace(file, quoted=True) for file in files if not (ours and file.media_type.startswith("audio/"))]


def forwarded_in(message: Json, text: str) -> Quote | None:
    """What a message passes on."""
    origin = message.get("forward_origin")
    if origin is None:
        return None
    author, person = _origin(origin)
    return Quote(str(origin.get("message_id", "")), author, text, "forwarded", person=person)


def _author(message: Json) -> tuple[str, str]:
    """The name of who wrote a message, and their id where it is a person."""
    if "sender_chat" in message:
        return str(message["sender_chat"].get("title", "")), ""
    if "from" in message:
        return _named(message["from"])
    if "story" in message:
        return _named(message["story"].get("chat", _NOTHING))
    return _origin(message.get("origin", _NOTHING))


def _origin(origin: Mapping[str, Any]) -> tuple[str, str]:
    if "sender_user" in origin:
        return _named(origin["sender_user"])
    chat = origin.get("sender_chat", origin.get("chat", _NOTHING))
    names = (origin.get("sender_user_name"), chat.get("title"), origin.get("author_signature"))
    return ", ".join(filter(None, names)), ""


def _named(who: Mapping[str, Any]) -> tuple[str, str]:
    is_person = "id" in who and not who.get("is_bot") and "title" not in who
    return str(who.get("title") or name_of(who)), f"{PLATFORM}:{who['id']}" if is_person else ""
