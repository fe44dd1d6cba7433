"""The numbers of messages, and the candidates for a message whose sending was not answered.

Telegram numbers messages upwards: those of a supergroup alike for everybody, those of a bot's private chats in one row
for that bot. So a message that we lost has a number above all that were known when it was sent, and that number is
nobody's that we know. It can be found by changing what may stand there: Telegram lets a bot change its own messages
only. That is safe while every message of ours with such a number is known, hence:

- nothing is looked for unless a number is known that was posted since we alone make this bot's calls (`granted`);
- only one post or search at a time is made in a chat (`turn`), so that no answer is on its way meanwhile;
- nothing is looked for while a post is lost in another topic of the chat, nor later than `SEARCHED_S`;
- nothing is looked for after a post that was broken off, until the next one is known.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio
from msgspec import Struct, field

from adapters.recent import RecentValues
from adapters.telegram.chat_state import MAX_RECENT
from adapters.telegram.codec.addresses import FIRST_SUPERGROUP
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, OutcomeUncertain, ShownDiffers

TRIES: Final = 3
"""The candidates tried for a lost message. Chosen: while the bot's other chats are silent the first succeeds."""
SEARCHED_S: Final = 120.0
"""The time for which a lost message is searched for, in seconds. Chosen: longer than retries delay its post."""
MAX_LOST: Final = 1000


class Spot(Struct, frozen=True):
    """A place in a chat. `bot` is the agent's bot that posts there, None the main one."""

    chat_id: int
    thread_id: int | None
    bot: int | None


class LostPost(Struct):
    """A post without a clear answer. Its number is above `since`, which is None where that cannot be known; `first` is
    the `since` of its first try and `tried` the numbers where it is not."""

    spot: Spot
    first: int | None
    since: int | None
    at_s: float
    posts: int = 1
    tried: set[int] = field(default_factory=set)
    copied: bool = False


class _Row:
    """A row of rising numbers. Nothing is known before `anchored`."""

    def __init__(self) -> None:
        self.known: RecentValues[int, None] = RecentValues(MAX_RECENT)
        self.highest = 0
        self.anchored = False

    def note(self, number: int) -> None:
        self.known.keep(number, None)
        self.highest = max(self.highest, number)


class MessageIds:
    """The numbers of messages. No other node makes calls by our bots unless `granted` says so."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._alone = True
        self._rows: RecentValues[tuple[int, int | None], _Row] = RecentValues(MAX_RECENT)
        self._turns: RecentValues[tuple[int, int | None], anyio.Lock] = RecentValues(MAX_RECENT)
        self._lost: RecentValues[tuple[int, int | None, str], LostPost] = RecentValues(MAX_LOST)

    def granted(self, share: float) -> None:
        """Our share of the calls. Another node may post when it is not the whole."""
        self._alone = share >= 1.0
        if not self._alone:
            self._forget()

    def heard(self, chat_id: int, number: int, bot: int | None) -> None:
        row = self._row(chat_id, bot)
        if row is not None:
            row.note(number)

    @asynccontextmanager
    async def turn(self, spot: Spot) -> AsyncIterator[None]:
        """Post or search in this chat while nobody else does."""
        key = (spot.chat_id, _bot_in(spot.chat_id, spot.bot))
        lock = self._turns.get(key) or anyio.Lock()
        self._turns.keep(key, lock)
        async with lock:
            yield

    @asynccontextmanager
    async def posting(self, spot: Spot, nonce: str | None) -> AsyncIterator[None]:
        """Enclose a post; `nonce` is None if the post is not searched for. `posted` reports success."""
        row = self._row(spot.chat_id, spot.bot)
        since = row.highest if row is not None and row.anchored and self._alone else None
        try:
            yield
        except OutcomeUncertain:
            if nonce is not None:
                self._lose(spot, nonce, since if self._row(spot.chat_id, spot.bot) is row else None)
            raise
        except BaseException as error:
            if row is not None and (isinstance(error, ShownDiffers) or not isinstance(error, AdapterError)):
                row.anchored = False
            raise

    def posted(self, spot: Spot, number: int, nonce: str | None) -> None:
        row = self._row(spot.chat_id, spot.bot)
        lost = None if nonce is None else self._lost.get(self._key(spot, nonce))
        if lost is not None:
            lost.copied = row is None or self._is_gap_below(row, lost, number)
            lost.since = None
        if row is not None:
            row.note(number)
            row.anchored = row.anchored or self._alone

    def found(self, spot: Spot, number: int, nonce: str) -> None:
        row, lost = self._row(spot.chat_id, spot.bot), self._lost.get(self._key(spot, nonce))
        if row is None or lost is None:
            return
        lost.copied = lost.posts > 1 and self._is_gap_below(row, lost, number)
        lost.since = None
        row.note(number)

    def missed(self, spot: Spot, number: int, nonce: str) -> None:
        lost = self._lost.get(self._key(spot, nonce))
        if lost is not None:
            lost.tried.add(number)

    def where(self, spot: Spot, nonce: str) -> int | None:
        """The most likely number of the lost message; None where it is not looked for (now)."""
        row, lost = self._row(spot.chat_id, spot.bot), self._lost.get(self._key(spot, nonce))
        if row is None or lost is None or lost.since is None or not row.anchored or not self._in_time(lost):
            return None
        if any(other.spot != spot for other in self._open_in(spot)):
            return None
        if sum(number > lost.since for number in lost.tried) >= TRIES:
            return None
        number = lost.since + 1
        while number in row.known or number in lost.tried:
            number += 1
        return number

    def left_copy(self, spot: Spot, nonce: str) -> bool:
        """Whether a second copy of the post with this nonce may exist. Ask only once."""
        key = self._key(spot, nonce)
        lost = self._lost.get(key)
        self._lost.forget(key)
        return lost is not None and lost.copied

    def _lose(self, spot: Spot, nonce: str, since: int | None) -> None:
        """Record a lost post. Earlier attempts keep their candidates unless those were passed since."""
        key, now = self._key(spot, nonce), self._clock.monotonic()
        lost = self._lost.get(key)
        if lost is None:
            self._lost.keep(key, LostPost(spot, since, since, now))
            return
        lost.posts, lost.at_s, lost.since = lost.posts + 1, now, since
        lost.tried = {number for number in lost.tried if since is not None and number <= since}

    def _open_in(self, spot: Spot) -> list[LostPost]:
        """The lost posts in the chat, in any topic and by any bot of ours that shares its numbers."""
        mine = _bot_in(spot.chat_id, spot.bot)
        return [
            lost
            for lost in self._lost.values()
            if (lost.spot.chat_id, _bot_in(lost.spot.chat_id, lost.spot.bot)) == (spot.chat_id, mine)
            and self._in_time(lost)
            and lost.since is not None
        ]

    def _in_time(self, lost: LostPost) -> bool:
        return self._clock.monotonic() - lost.at_s <= SEARCHED_S

    def _is_gap_below(self, row: _Row, lost: LostPost, number: int) -> bool:
        """Whether the lost message may have a number below this one."""
        if lost.first is None:
            return True
        accounted = (n in row.known or n in lost.tried for n in range(lost.first + 1, number))
        return not all(accounted)

    def _key(self, spot: Spot, nonce: str) -> tuple[int, int | None, str]:
        return spot.chat_id, _bot_in(spot.chat_id, spot.bot), nonce

    def _row(self, chat_id: int, bot: int | None) -> _Row | None:
        """The row of numbers; None in ordinary groups, where each bot has separate numbers that change."""
        if chat_id < 0 and chat_id > FIRST_SUPERGROUP:
            return None
        key = (chat_id if chat_id < 0 else 0, _bot_in(chat_id, bot))
        row = self._rows.get(key)
        if row is None:
            row = _Row()
            self._rows.keep(key, row)
        return row

    def _forget(self) -> None:
        self._rows.clear()
        for lost in self._lost.values():
            lost.since = lost.first = None


def _bot_in(chat_id: int, bot: int | None) -> int | None:
    """The bot that owns the numbers; None in a group, where all share them."""
    return bot if chat_id > 0 else None
