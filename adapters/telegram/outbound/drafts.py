"""Drafts in private chats: a text that grows, and what its author does before there is one.

Bot API 10.1 and later: rich drafts and the thinking block. An older server shows plain drafts or none; what a server
lacks is remembered while the process lives.
"""

from __future__ import annotations

import html
import zlib
from typing import Final

from adapters.recent import RecentValues
from adapters.telegram.api.failures import NoTopic, NotWelcome, UnknownMethod
from adapters.telegram.bots import OurBot
from adapters.telegram.chat_state import MAX_RECENT
from adapters.telegram.codec.addresses import chat_id_of, is_private, thread_id_of
from adapters.telegram.codec.markup import RenderedPage
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import BadMarkup, NotDelivered

LASTS_S: Final = 30.0
"""The time after which Telegram removes a draft (sendRichMessageDraft)."""
AGAIN_AFTER_S: Final = 20.0
"""The time after which the same thought is shown once more."""
NOTHING_SAID: Final = "\N{HORIZONTAL ELLIPSIS}"
"""The thought of an author whose work is not described."""


class TelegramDrafts:
    def __init__(self, clock: Clock, *, wanted: bool, rich: bool) -> None:
        self._clock = clock
        self._plain_known = wanted
        self._rich_known = wanted and rich
        self._thoughts_known = wanted
        self._written: RecentValues[str, float] = RecentValues(MAX_RECENT)
        self._thoughts: RecentValues[str, tuple[str, float]] = RecentValues(MAX_RECENT)

    def available(self, to: Address) -> bool:
        return self._plain_known and is_private(to)

    async def show(self, bot: OurBot, to: Address, page: RenderedPage, *, nonce: str, rich: str | None) -> None:
        """Show or replace the draft of a text, as a rich one where `rich` is its HTML.

        Raises as a send, and UnknownMethod where there are no drafts.
        """
        draft_id, chat_id, thread_id = _number(nonce), chat_id_of(to), thread_id_of(to)
        self._written.keep(to.key, self._clock.monotonic())
        if rich is not None and self._rich_known:
            try:
                return await bot.api.draft_rich(chat_id, thread_id, draft_id, rich)
            except UnknownMethod:
                self._rich_known = self._thoughts_known = False
            except (NotDelivered, BadMarkup):  # half of a text may be no markup; its end has one more try
                pass
        try:
            await bot.api.draft(chat_id, thread_id, draft_id, page.rendered())
        except UnknownMethod:
            self._plain_known = False
            raise

    async def think(self, bot: OurBot, to: Address, speaker: Speaker, doing: str | None) -> bool:
        """Show what a speaker does before there is a text; False where the typing sign is to be shown instead."""
        now_s = self._clock.monotonic()
        written_s = self._written.get(to.key)
        writes = written_s is not None and now_s - written_s < LASTS_S
        if not self._thoughts_known or not is_private(to) or writes:
            return False
        key, thought = f"{to.key}/{speaker.id}", doing or NOTHING_SAID
        shown, at_s = self._thoughts.get(key) or ("", 0.0)
        if shown == thought and now_s - at_s < AGAIN_AFTER_S:
            return False
        block = f"<tg-thinking>{html.escape(thought)}</tg-thinking>"
        try:
            await bot.api.draft_rich(chat_id_of(to), thread_id_of(to), _number(key), block)
        except (NotWelcome, NoTopic):  # of this chat, and nothing about the server
            return False
        except (UnknownMethod, BadMarkup, NotDelivered):
            self._thoughts_known = False
            return False
        self._thoughts.keep(key, (thought, now_s))
        return True

    def said(self, to: Address) -> None:
        self._written.forget(to.key)


def _number(name: str) -> int:
    """The number of a draft, which must not be 0."""
    return zlib.crc32(name.encode()) & 0x7FFFFFFF or 1
