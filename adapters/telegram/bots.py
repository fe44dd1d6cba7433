"""Our bots: the main one, and those that speak for a single agent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct, field

from adapters.telegram.api.bot import TelegramApi
from adapters.telegram.codec.addresses import FIRST_SUPERGROUP, MessageId, chat_id_of, is_private, private_bot_of
from runtime.core.address import Address, Speaker
from runtime.core.errors import AuthFailed

_AGENT_TOKEN: Final = re.compile(r"(\d+):[\w-]+")


class OurBot(Struct, eq=False):
    """A bot of ours. `id` and `agent` are None for the main one. `absent_from` are chats where it may not write."""

    api: TelegramApi
    id: int | None = None
    agent: str | None = None
    absent_from: set[int] = field(default_factory=set)

    def message_id(self, number: int) -> str:
        return str(MessageId(number, self.id))

    def knows(self, chat_id: int, message: MessageId) -> bool:
        """Whether the message has this number for this bot too."""
        return chat_id <= FIRST_SUPERGROUP or message.bot_id == self.id


def agent_bot_id(token: str) -> int:
    """The bot's id, with which every token starts. Raises AuthFailed for a text that is no token."""
    found = _AGENT_TOKEN.fullmatch(token)
    if found is None:
        raise AuthFailed("A Telegram token is digits, a colon and letters; @BotFather has it")
    return int(found[1])


class Bots:
    def __init__(self, main: OurBot, agents: Mapping[str, OurBot]) -> None:
        self.main = main
        self._by_agent = {name.casefold(): bot for name, bot in agents.items()}
        self._by_id = {bot.id: bot for bot in agents.values()}

    def __iter__(self) -> Iterator[OurBot]:
        yield self.main
        yield from self._by_id.values()

    def speaking(self, to: Address, speaker: Speaker) -> OurBot:
        """Who speaks: in a group the agent's own bot where it may write, in private chats the bot of the chat."""
        if is_private(to):
            return self._by_id.get(private_bot_of(to), self.main)
        bot = self._by_agent.get(speaker.name.casefold()) if speaker.id else None
        return self.main if bot is None or chat_id_of(to) in bot.absent_from else bot

    def owner(self, bot_id: int | None, to: Address | None = None) -> OurBot:
        """The bot with this id, else the one whose private chat it is."""
        if bot_id is None and to is not None:
            bot_id = private_bot_of(to)
        return self._by_id.get(bot_id, self.main)

    def drop(self, bot: OurBot) -> None:
        """Stop using a bot whose token is refused: the main bot speaks for its agent."""
        self._by_agent = {name: one for name, one in self._by_agent.items() if one is not bot}
