"""Messages in a group that only one person sees: Bot API 10.2 and later (ephemeral messages).

A bot that is no administrator may send them only as the answer to a press or to a message of this kind. Our commands
about who gives them are of this kind, where they come from the menu of a group. For other ones everybody reads the
answer there. An older server passes the parameter over and posts for everybody.
"""

from __future__ import annotations

from typing import Final

from adapters.recent import Recent
from adapters.telegram.api.bot import TelegramTarget
from adapters.telegram.bots import OurBot
from adapters.telegram.codec.addresses import chat_id_of, is_private, thread_id_of
from adapters.telegram.codec.markup import Rendered
from adapters.telegram.outbound.sender import TelegramSender
from runtime.core.address import Address
from runtime.core.errors import BadMarkup, NotDelivered, OutcomeUncertain

MAX_CHATS: Final = 10_000
"""The number of groups remembered in which it is refused."""


class TelegramAlone:
    """Remembers, while the process lives, whether the server has such messages and which groups refuse them."""

    def __init__(self, sender: TelegramSender) -> None:
        self._sender = sender
        self._known = True
        self._refusing: Recent[str, bool] = Recent(MAX_CHATS)
        self._heard: Recent[tuple[int, str], int] = Recent(MAX_CHATS)

    def heard(self, chat_id: int, person: int, number: int) -> None:
        """Somebody gave a command in a group that only we see. What answers it needs no rights."""
        self._heard.keep((chat_id, str(person)), number)

    async def tell(self, bot: OurBot, to: Address, person_id: str, page: Rendered) -> bool:
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
