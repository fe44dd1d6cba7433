"""Replies below a message: what answers an agent's open question in the room, and what a thread begins with."""

from __future__ import annotations

import re

from adapters.web.board import Board
from runtime.core.message import Quote
from runtime.core.room import RoomMessage

MAX_QUOTE = 200
"""The length of a quote."""

MAX_BEGINNING = 1_000
"""The length of what a thread's first message is told to hang on."""

_LOOKED_BACK = 60
"""The number of messages among which others are looked for."""

_MENTION = re.compile(r"\[(@[^\]\n]*)\]\(person:[^)\s]*\)")
_ASKS = re.compile(r"[?？؟][\s*_`)\]}\"'»”’]*$")  # noqa: RUF001 - in other scripts


class Threads:
    """The threads of rooms. An agent's message is an open question while it is the room's newest, asks something or has
    choices, and nobody has replied to it, be it in the room or in its thread.
    """

    def __init__(self, board: Board) -> None:
        self._board = board

    async def question(self, room: str, thread: str | None) -> RoomMessage | None:
        """The open question above a thread, if there is one. A reply there is heard in the room, as its answer."""
        asked = None if thread is None else await self._board.message(room, thread)
        if asked is None or asked.author_kind != "agent" or asked.thread is not None or not asked.final:
            return None
        if not asked.choices and not _ASKS.search(asked.text):
            return None
        recent = await self._board.newest(room, _LOOKED_BACK)
        if not any(each.id == asked.id for each in recent):
            return None
        later = [each for each in recent if each.seq > asked.seq and each.author_kind != "notice"]
        return None if any(each.thread in (None, asked.id) for each in later) else asked

    async def beginning(self, room: str, said: RoomMessage) -> Quote | None:
        """What the first message of a thread hangs on; None for all others."""
        if said.thread is None:
            return None
        recent = await self._board.newest(room, _LOOKED_BACK)
        if any(each.thread == said.thread and each.id != said.id for each in recent):
            return None
        return await quote_of(self._board, room, said.thread, most=MAX_BEGINNING)


def heard_in(message: RoomMessage) -> str | None:
    """The thread in which agents hear a message; None for the room itself, where an answer to its question is heard.

    An answer quotes the message that its thread hangs on. Nothing else of a person does.
    """
    quoted = message.quote.message_id if message.quote is not None else None
    return None if message.author_kind == "person" and quoted == message.thread else message.thread


async def quote_of(board: Board, room: str, message_id: str, *, most: int = MAX_QUOTE) -> Quote | None:
    """A quote of a message of the room; None when the message no longer exists."""
    quoted = await board.message(room, message_id)
    if quoted is None:
        return None
    names = ", ".join(file.name for file in quoted.files)
    text = " ".join(_MENTION.sub(r"\1", quoted.text or names).split())
    short = text if len(text) <= most else text[: most - 1].rstrip() + "…"
    return Quote(quoted.id, quoted.author_name, short)
