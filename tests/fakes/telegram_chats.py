"""Chats and the bot's messages in them, with the platform's rules for writing there."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.core.clock import Clock
from tests.fakes.telegram_limits import FloodBucket, FloodLimits
from tests.fakes.telegram_markup import MarkupError, parse, units
from tests.fakes.telegram_refusal import Refusal, too_many_requests

EPOCH = 1_700_000_000
MAX_UNITS = 4096
_NOT_MODIFIED = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a "
    "current content and reply markup of the message"
)


@dataclass(slots=True)
class Posted:
    """A message of the bot's. `history` is every text it had, the newest last."""

    message_id: int
    chat_id: int
    text: str
    entities: list[dict[str, Any]]
    thread: int | None = None
    history: list[str] = field(default_factory=list)


class Chats:
    """Where the bot may write. `limits` None means no flood control."""

    def __init__(self, bot: Mapping[str, Any], clock: Clock, limits: FloodLimits | None) -> None:
        self.message_ids = itertools.count(1)
        self.typing: list[int] = []
        self._bot = bot
        self._clock = clock
        self._known: dict[int, dict[str, Any]] = {}
        self._posted: dict[tuple[int, int], Posted] = {}
        self._blocked: set[int] = set()
        self._moved: dict[int, int] = {}
        self.relax(limits)

    def relax(self, limits: FloodLimits | None) -> None:
        """Other limits from now on, with full buckets."""
        self._limits = limits
        self._buckets: dict[int, FloodBucket] = {}
        self._total = FloodBucket(limits.total) if limits else None

    def open(self, chat_id: int, *, forum: bool = False) -> None:
        """A chat the bot may write to: positive numbers are people, negative ones groups."""
        if chat_id > 0:
            self._known[chat_id] = {"id": chat_id, "type": "private", "first_name": "Ada"}
            return
        kind = "supergroup" if chat_id < -(10**12) else "group"
        self._known[chat_id] = {"id": chat_id, "type": kind, "title": "Group"} | ({"is_forum": True} if forum else {})

    def block(self, chat_id: int) -> None:
        self._blocked.add(chat_id)

    def migrate(self, chat_id: int, new_chat_id: int) -> None:
        self.open(new_chat_id)
        self._moved[chat_id] = new_chat_id

    def info(self, chat_id: int) -> dict[str, Any]:
        if chat_id not in self._known:
            self.open(chat_id)
        return self._known[chat_id]

    def visible(self, chat_id: int) -> list[Posted]:
        return [posted for (chat, _), posted in self._posted.items() if chat == chat_id]

    def remove(self, chat_id: int, message_id: int) -> None:
        del self._posted[chat_id, message_id]

    def message_data(self, posted: Posted) -> dict[str, Any]:
        """A message of the bot's as the Bot API shows it."""
        data: dict[str, Any] = {
            "message_id": posted.message_id,
            "from": self._bot,
            "chat": self._known[posted.chat_id],
            "date": EPOCH,
            "text": posted.text,
            "entities": posted.entities,
        }
        if posted.thread is not None:
            data |= {"message_thread_id": posted.thread, "is_topic_message": True}
        return data

    def find(self, chat_id: int, message_id: int) -> Posted | None:
        return self._posted.get((chat_id, message_id))

    def send(self, params: Mapping[str, Any]) -> dict[str, Any]:
        chat_id = self._admit(params, counted=True)
        text, entities = _content(params)
        posted = Posted(next(self.message_ids), chat_id, text, entities, params.get("message_thread_id"), [text])
        self._posted[chat_id, posted.message_id] = posted
        return self.message_data(posted)

    def edit(self, params: Mapping[str, Any]) -> dict[str, Any]:
        chat_id = self._admit(params, counted=True)
        posted = self.find(chat_id, params.get("message_id", 0))
        if posted is None:
            raise Refusal(400, "Bad Request: message to edit not found")
        text, entities = _content(params)
        if (text, entities) == (posted.text, posted.entities):
            raise Refusal(400, _NOT_MODIFIED)
        posted.text, posted.entities = text, entities
        posted.history.append(text)
        return self.message_data(posted) | {"edit_date": EPOCH}

    def show_typing(self, params: Mapping[str, Any]) -> bool:
        self.typing.append(self._admit(params, counted=False))
        return True

    def delete(self, params: Mapping[str, Any]) -> bool:
        chat_id = self._admit(params, counted=False)
        if self.find(chat_id, params.get("message_id", 0)) is None:
            raise Refusal(400, "Bad Request: message to delete not found")
        self.remove(chat_id, params["message_id"])
        return True

    def _admit(self, params: Mapping[str, Any], *, counted: bool) -> int:
        """The chat of a call, when the bot may write there now. Sends and edits are counted for the chat as well."""
        chat_id = params.get("chat_id")
        if not isinstance(chat_id, int) or chat_id not in self._known:
            raise Refusal(400, "Bad Request: chat not found")
        if chat_id in self._moved:
            description = "Bad Request: group chat was upgraded to a supergroup chat"
            raise Refusal(400, description, migrate_to_chat_id=self._moved[chat_id])
        if chat_id in self._blocked:
            kicked = "bot was blocked by the user" if chat_id > 0 else "bot was kicked from the group chat"
            raise Refusal(403, f"Forbidden: {kicked}")
        self._check_flood(chat_id, counted=counted)
        return chat_id

    def _check_flood(self, chat_id: int, *, counted: bool) -> None:
        if self._limits is None or self._total is None:
            return
        now_s = self._clock.monotonic()
        retry_after_s = None
        if counted:
            limit = self._limits.private if chat_id > 0 else self._limits.group
            retry_after_s = self._buckets.setdefault(chat_id, FloodBucket(limit)).take(now_s)
        if retry_after_s is None:
            retry_after_s = self._total.take(now_s)
        if retry_after_s is not None:
            raise too_many_requests(retry_after_s)


def _content(params: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """The text and the entities of a message that the platform takes."""
    try:
        text, entities = parse(str(params.get("text", "")), params.get("parse_mode", ""))
    except MarkupError as error:
        raise Refusal(400, f"Bad Request: can't parse entities: {error}") from error
    entities = entities or _checked(text, params.get("entities", []))
    shown = text.rstrip()
    if not shown.strip():
        raise Refusal(400, "Bad Request: message text is empty")
    if units(shown) > MAX_UNITS:
        raise Refusal(400, "Bad Request: message is too long")
    return shown, entities[:100]


def _checked(text: str, entities: Any) -> list[dict[str, Any]]:
    length = units(text)
    for entity in entities:
        offset, size = entity["offset"], entity["length"]
        if offset < 0 or size <= 0 or offset + size > length:
            raise Refusal(
                400, f"Bad Request: entity beginning at UTF-16 offset {offset} ends after the end of the text"
            )
        if entity["type"] == "text_link" and not entity.get("url"):
            raise Refusal(400, "Bad Request: can't parse entities: text_link without url")
    return list(entities)
