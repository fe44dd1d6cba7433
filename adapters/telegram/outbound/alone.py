"""Messages in a group that only one person sees: Bot API 10.2 and later (ephemeral messages).

A bot that is no administrator may send them only as the answer to a press or to a message of this kind, so where it is
none everybody reads the answer. An older server passes the parameter over and posts for everybody.
"""

from __future__ import annotations

from typing import Final

from adapters.recent import Recent
from adapters.telegram.api.bot import Target
from adapters.telegram.bots import OurBot
from adapters.telegram.codec.addresses import is_private, thread_id_of
from adapters.telegram.codec.markup import Rendered
from adapters.telegram.outbound.sender import Sender
from runtime.core.address import Address
from runtime.core.errors import BadMarkup, NotDelivered, OutcomeUncertain

MAX_CHATS: Final = 10_000
"""The number of groups remembered in which it is refused."""


class TellingAlone:
    """Remembers, while the process lives, whether the server has such messages and which groups refuse them."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._known = True
        self._refusing: Recent[str, bool] = Recent(MAX_CHATS)

    async def tell(self, bot: OurBot, to: Address, person_id: str, page: Rendered) -> bool:
        """Tell one person of a group; False where it has to be said to everybody. Raises RateLimited."""
        number = person_id.rpartition(":")[2]
        if not self._known or is_private(to) or to.conversation in self._refusing or not number.isdecimal():
            return False
        try:
            answer = await self._sender.at_current(
                to, lambda chat_id: bot.api.send_alone(Target(chat_id, thread_id_of(to)), int(number), page)
            )
        except OutcomeUncertain:
            return True  # rather lost than read by everybody
        except (NotDelivered, BadMarkup):
            self._refusing.keep(to.conversation, True)
            return False
        self._known = "ephemeral_message_id" in answer
        return True
