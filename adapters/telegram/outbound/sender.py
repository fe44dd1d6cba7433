"""Sending to Telegram's chats: where a group is now, by the best means that the server knows, with a record of every
message, and the search for a post without an answer.

Messages in a group that only one person sees (Bot API 10.2 and later, ephemeral messages): a bot that is no
administrator may send them only as the answer to a press or to a message of this kind. Our commands about who gives
them are of this kind, where they come from the menu of a group. For other ones everybody reads the answer there. An
older server passes the parameter over and posts for everybody.
"""

from __future__ import annotations

import html
import logging
import zlib
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar

from adapters.adapter import FileData
from adapters.recent import RecentValues
from adapters.telegram.api.bot import TelegramApi, TelegramTarget
from adapters.telegram.api.failures import ChatMoved, NotModified, NoTopic, NotWelcome, UnknownMethod
from adapters.telegram.bots import OurBot
from adapters.telegram.chat_state import MAX_RECENT, ChatState
from adapters.telegram.codec.addresses import MessageId, chat_id_of, is_private, thread_id_of
from adapters.telegram.codec.markup import RenderedPage, RenderedText, Rich, shows_it
from adapters.telegram.outbound.message_ids import MessageIds, Spot
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, BadMarkup, MessageGone, NotDelivered, OutcomeUncertain, ShownDiffers

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")

MAX_CHATS: Final = 10_000
"""The number of groups remembered in which it is refused."""


class TelegramSender:
    """The messages of one adapter.

    Refused formatting is left out. Features that a server lacks are remembered while the process lives. An edit without
    an answer is repeated with one space of another kind, because Telegram refuses an edit that changes nothing.
    """

    def __init__(self, memory: ChatState, numbers: MessageIds, rich: Rich) -> None:
        self._memory = memory
        self._numbers = numbers
        self._rich = rich
        self._rich_known = rich != "never"
        self._unclear: RecentValues[tuple[int, int], RenderedText] = RecentValues(MAX_RECENT)

    async def post(
        self, bot: OurBot, to: Address, page: RenderedPage, *, nonce: str, final: bool, reply_to: str | None
    ) -> str:
        """Post a message and return its id. Raises ShownDiffers after it has deleted a wrong message."""

        async def call(chat_id: int) -> int:
            target = _target(bot, chat_id, to, reply_to)
            if final and (rich := self.rich(page)) is not None:
                posted = await self._unless_refused(lambda: bot.api.send_rich(target, rich))
                if posted is not None:
                    return await _checked(bot.api, target, posted, None)
            answer, shown = await _plain_if_refused(page.rendered(), lambda text: bot.api.send(target, text))
            return await _checked(bot.api, target, answer, shown) if final else int(answer["message_id"])

        return await self._posted(bot, to, nonce, call)

    async def upload(
        self, bot: OurBot, to: Address, file: FileData, caption: RenderedText, *, reply_to: str | None
    ) -> str:
        """Post a file and return the message's id. It is not searched for when the answer is lost."""

        async def call(chat_id: int) -> int:
            answer = await bot.api.upload(_target(bot, chat_id, to, reply_to), file, caption)
            return int(answer["message_id"])

        return await self._posted(bot, to, None, call)

    async def change(self, bot: OurBot, to: Address, message: int, page: RenderedPage, *, final: bool) -> None:
        """Change a message. One that shows the text already counts as changed. Raises ShownDiffers."""
        await self.at_current(to, lambda chat_id: self._change(bot.api, to, chat_id, message, page, final=final))

    async def find(self, bot: OurBot, to: Address, nonce: str, page: RenderedPage) -> str | None:
        """Search once for a lost message, by editing the one with a possible number: its id, or None."""
        spot = self._spot(bot, to)
        async with self._numbers.turn(spot):
            number = self._numbers.where(spot, nonce)
            if number is None:
                return None
            try:
                await self._change(bot.api, to, spot.chat_id, number, page, final=False)
            except (MessageGone, NotDelivered):
                self._numbers.missed(spot, number, nonce)
                return None
            self._numbers.found(spot, number, nonce)
        return await self._remember(bot, to, number)

    def is_lost(self, bot: OurBot, to: Address, nonce: str) -> bool:
        return self._numbers.where(self._spot(bot, to), nonce) is not None

    def left_copy(self, bot: OurBot, to: Address, nonce: str) -> bool:
        return self._numbers.left_copy(self._spot(bot, to), nonce)

    async def at_current(self, to: Address, call: Callable[[int], Awaitable[_Answer]]) -> _Answer:
        """Make the call, and once more if the group has become a supergroup, because its old id is refused for good."""
        chat_id = chat_id_of(to)
        try:
            return await call(self._memory.current(chat_id))
        except ChatMoved as moved:
            await self._memory.note_moved(chat_id, moved.new_chat_id)
            return await call(moved.new_chat_id)

    async def _posted(self, bot: OurBot, to: Address, nonce: str | None, call: Callable[[int], Awaitable[int]]) -> str:
        """Post, and remember the place. A post without a nonce cannot be searched for."""

        async def posted(chat_id: int) -> int:
            spot = Spot(chat_id, thread_id_of(to), bot.id)
            async with self._numbers.turn(spot), self._numbers.posting(spot, nonce):
                number = await call(chat_id)
                self._numbers.posted(spot, number, nonce)
                return number

        return await self._remember(bot, to, await self.at_current(to, posted))

    async def _change(
        self, api: TelegramApi, to: Address, chat_id: int, message: int, page: RenderedPage, *, final: bool
    ) -> None:
        target = TelegramTarget(chat_id, thread_id_of(to))
        with suppress(NotModified):
            if final and (rich := self.rich(page)) is not None:
                answer = await self._unless_refused(lambda: api.edit_rich(chat_id, message, rich))
                if answer is not None:
                    return _compare(answer, None, target)
            place, rendered = (chat_id, message), page.rendered()
            unclear, wanted = self._unclear.get(place), rendered
            if unclear == rendered:
                wanted = rendered.respaced()
            try:
                shown = await _plain_if_refused(wanted, lambda text: api.edit(chat_id, message, text))
            except OutcomeUncertain:
                self._unclear.keep(place, wanted)
                raise
            self._unclear.forget(place)
            if final:
                _compare(*shown, target)
        return None

    def rich(self, page: RenderedPage) -> str | None:
        """The HTML of a text that is shown as a rich message; None for another one."""
        return page.rich() if self._rich_known and (self._rich == "always" or page.gains()) else None

    async def _unless_refused(self, call: Callable[[], Awaitable[_Answer]]) -> _Answer | None:
        """The answer, or None if the message needs entities: such a server is not asked again."""
        try:
            return await call()
        except (ChatMoved, NotWelcome):
            raise
        except (NotDelivered, BadMarkup) as error:
            if isinstance(error, UnknownMethod) or "text is empty" in str(error):
                self._rich_known = False
            _log.info("Telegram refuses a rich message; it is shown with entities", extra={"error": str(error)})
        return None

    def _spot(self, bot: OurBot, to: Address) -> Spot:
        return Spot(self._memory.current(chat_id_of(to)), thread_id_of(to), bot.id)

    async def _remember(self, bot: OurBot, to: Address, number: int) -> str:
        place = (self._memory.current(chat_id_of(to)), number)
        self._memory.places.keep(place, (thread_id_of(to), bot.id))
        await self._memory.note_spoke(to)
        return bot.message_id(number)


def _target(bot: OurBot, chat_id: int, to: Address, reply_to: str | None) -> TelegramTarget:
    """The target of a post. A message is answered only if the bot knows it by that number."""
    replied = MessageId.read(reply_to) if reply_to is not None else None
    known = replied is not None and (is_private(to) or bot.knows(chat_id, replied))
    return TelegramTarget(chat_id, thread_id_of(to), replied.number if replied is not None and known else None)


async def _checked(
    api: TelegramApi, target: TelegramTarget, answer: Mapping[str, Any], shown: RenderedText | None
) -> int:
    number = int(answer["message_id"])
    try:
        _compare(answer, shown, target)
    except ShownDiffers:
        with suppress(AdapterError):  # the difference is told all the same
            await api.delete(target.chat_id, number)
        raise
    return number


def _compare(answer: Mapping[str, Any], shown: RenderedText | None, target: TelegramTarget) -> None:
    wrong = shows_it(answer, shown, target.thread_id)
    if wrong is not None:
        raise ShownDiffers(f"Telegram: message {answer.get('message_id')} in chat {target.chat_id}: {wrong}")


async def _plain_if_refused(
    page: RenderedText, show: Callable[[RenderedText], Awaitable[_Answer]]
) -> tuple[_Answer, RenderedText]:
    """Show the page, or its plain text if Telegram refuses the formatting. A refusal has changed nothing."""
    try:
        return await show(page), page
    except BadMarkup:
        if not page.entities:
            raise
    plain = RenderedText(page.text)
    return await show(plain), plain


class TelegramAlone:
    """Remembers, while the process lives, whether the server has such messages and which groups refuse them."""

    def __init__(self, sender: TelegramSender) -> None:
        self._sender = sender
        self._known = True
        self._refusing: RecentValues[str, bool] = RecentValues(MAX_CHATS)
        self._heard: RecentValues[tuple[int, str], int] = RecentValues(MAX_CHATS)

    def heard(self, chat_id: int, person: int, number: int) -> None:
        """Somebody gave a command in a group that only we see. What answers it needs no rights."""
        self._heard.keep((chat_id, str(person)), number)

    async def tell(self, bot: OurBot, to: Address, person_id: str, page: RenderedText) -> bool:
        """Tell one person of a group; False where it has to be said to everybody. Raises RateLimited."""
        number = person_id.rpartition(":")[2]
        asked = self._asked(to, number)
        refused = to.conversation in self._refusing and asked is None
        if not self._known or is_private(to) or refused or not number.isdecimal():
            return False
        thread = thread_id_of(to)
        try:
            answer = await self._sender.at_current(
                to,
                lambda chat_id: bot.api.send_alone(TelegramTarget(chat_id, thread, alone_to=asked), int(number), page),
            )
        except OutcomeUncertain:
            return True  # rather lost than read by everybody
        except (NotDelivered, BadMarkup):
            if asked is None:
                self._refusing.keep(to.conversation, True)
            return False
        self._known = "ephemeral_message_id" in answer
        return True

    def _asked(self, to: Address, person: str) -> int | None:
        """The number of the command that is answered, once; None where everybody saw it."""
        asked = (chat_id_of(to), person)
        number = self._heard.get(asked)
        self._heard.forget(asked)
        return number


LASTS_S: Final = 30.0
"""The time after which Telegram removes a draft (sendRichMessageDraft)."""
AGAIN_AFTER_S: Final = 20.0
"""The time after which the same thought is shown once more."""
NOTHING_SAID: Final = "\N{HORIZONTAL ELLIPSIS}"
"""The thought of an author whose work is not described."""


class TelegramDrafts:
    """In private chats: a text that grows, and what its author does before there is one. Bot API 10.1 and later: rich
    drafts and the thinking block. An older server shows plain drafts or none; what it lacks is remembered.
    """

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
        """Show or replace a draft, as a rich one by the HTML `rich`. Raises as a send, and UnknownMethod."""
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
