"""What the ways in of all platforms share, and callbacks to tell people things and carry out commands."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from adapters.adapter import Inbound
from adapters.records import Records, readable
from gateway.access.people import OwnerNotices, Role
from gateway.inbound.earlier import HeardPlaces
from gateway.inbound.routing import Routes
from gateway.inbound.usage_limits import UsageLimits
from runtime.bus import Bus
from runtime.core.address import Address, address_from
from runtime.core.message import Choice, Mark
from runtime.core.texts import Texts
from runtime.stores.inbox import Inbox

if TYPE_CHECKING:
    from gateway.feature import EntrancePart

ORIGINS_TABLE = "places:origins"
"""The table from a conversation to the one beside which it was opened."""

CHOSEN_TABLE = "programs:chosen"


class GivenCommand(Struct, frozen=True):
    """A command or a choice for the gateway; `program` serves there, `private`: nobody else reads the answer."""

    event: Inbound
    role: Role
    program: str | None
    texts: Texts
    private: bool


class CommandAnswer(Struct, frozen=True):
    """The answer for who gave a command; everybody may read what came of a choice."""

    text: str
    alone: bool = False
    """Tell it in private where the platform can, rather than in the conversation."""
    otherwise: str | None = None
    """What is said where everybody would read the answer; None: the answer."""


CarryOut = Callable[[GivenCommand], Awaitable[CommandAnswer]]
"""Carries out a command, or takes a choice. Done again, it changes nothing more."""


class SpeaksOutside(Protocol):
    """Tells people something outside any session, in the background."""

    async def say(self, to: Address, text: str, choices: Sequence[Choice] = (), /) -> None:
        """Tell a conversation, perhaps with choices below."""

    def tell_alone(self, to: Address, person_id: str, text: str, /) -> object:
        """Tell one person of a conversation in private, where the platform can."""

    def answer(self, to: Address, person_id: str, text: str, otherwise: str | None = None, /) -> object:
        """Answer one person of a conversation; where others would read it, `otherwise` is said in its place."""

    def mark(self, to: Address, message_id: str, mark: Mark | None, /) -> object:
        """Put a reaction on a person's message, where the platform can."""


class ConversationOrigins(Struct, frozen=True):
    """The conversation beside which each one was opened. Raises StorageUnavailable, and nothing else."""

    records: Records
    chosen: Records

    async def note(self, opened: Address, beside: Address) -> None:
        """Remember the origin of a conversation, and take over the choice made there."""
        chosen = await self.chosen.get(beside.key)
        if chosen is not None:
            await self.chosen.put(opened.key, chosen)
        place = await self.of(beside) or beside
        await self.records.put(opened.key, json.dumps([place.platform, place.conversation, place.thread]))

    async def of(self, address: Address) -> Address | None:
        """The first conversation in this chain of origins; None for one that people opened."""
        kept = await self.records.get(address.key)
        return readable(address.key, kept, lambda text: address_from(json.loads(text)))


class Entrance(Struct, frozen=True):
    """The parts that the routers of all platforms share. `features` is what all features do together."""

    inbox: Inbox
    outbound: SpeaksOutside
    bus: Bus
    texts: Texts
    routes: Routes
    origins: ConversationOrigins
    limits: UsageLimits
    owners: OwnerNotices
    places: HeardPlaces
    features: EntrancePart
