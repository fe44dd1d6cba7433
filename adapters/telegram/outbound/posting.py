"""Posting in a chat, with a record of every message, and the search for a post without an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from adapters.telegram.api.failures import ChatMoved
from adapters.telegram.bots import OurBot
from adapters.telegram.chat_state import ChatState
from adapters.telegram.codec.addresses import chat_id_of, thread_id_of
from adapters.telegram.outbound.message_ids import MessageIds, Spot
from runtime.core.address import Address
from runtime.core.errors import MessageGone, NotDelivered

_Answer = TypeVar("_Answer")


class Posting:
    """The posts of one adapter."""

    def __init__(self, memory: ChatState, numbers: MessageIds) -> None:
        self._memory = memory
        self._numbers = numbers

    async def at_current(self, to: Address, call: Callable[[int], Awaitable[_Answer]]) -> _Answer:
        """The call, and once more where the group has become a supergroup: its old id is refused for good."""
        chat_id = chat_id_of(to)
        try:
            return await call(self._memory.current(chat_id))
        except ChatMoved as moved:
            await self._memory.note_moved(chat_id, moved.new_chat_id)
            return await call(moved.new_chat_id)

    async def post(self, bot: OurBot, to: Address, nonce: str | None, call: Callable[[int], Awaitable[int]]) -> str:
        """Post, and remember where. Without a nonce it cannot be looked for."""

        async def posted(chat_id: int) -> int:
            spot = _spot(bot, to, chat_id)
            async with self._numbers.turn(spot), self._numbers.posting(spot, nonce):
                number = await call(chat_id)
                self._numbers.posted(spot, number, nonce)
                return number

        return await self._remember(bot, to, await self.at_current(to, posted))

    def is_lost(self, bot: OurBot, to: Address, nonce: str) -> bool:
        """Whether `find` is worth a call."""
        return self._numbers.where(self._current(bot, to), nonce) is not None

    async def find(
        self, bot: OurBot, to: Address, nonce: str, change: Callable[[int, int], Awaitable[None]]
    ) -> str | None:
        """Try one number for a lost message by changing it: `change` gets the chat and the number."""
        spot = self._current(bot, to)
        async with self._numbers.turn(spot):
            number = self._numbers.where(spot, nonce)
            if number is None:
                return None
            try:
                await change(spot.chat_id, number)
            except (MessageGone, NotDelivered):
                self._numbers.missed(spot, number, nonce)
                return None
            self._numbers.found(spot, number, nonce)
        return await self._remember(bot, to, number)

    def left_copy(self, bot: OurBot, to: Address, nonce: str) -> bool:
        return self._numbers.left_copy(self._current(bot, to), nonce)

    def _current(self, bot: OurBot, to: Address) -> Spot:
        return _spot(bot, to, self._memory.current(chat_id_of(to)))

    async def _remember(self, bot: OurBot, to: Address, number: int) -> str:
        place = (self._memory.current(chat_id_of(to)), number)
        self._memory.places.keep(place, (thread_id_of(to), bot.id))
        await self._memory.note_spoke(to)
        return bot.message_id(number)


def _spot(bot: OurBot, to: Address, chat_id: int) -> Spot:
    return Spot(chat_id, thread_id_of(to), bot.id)
