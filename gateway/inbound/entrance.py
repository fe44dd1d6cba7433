"""What the ways in of all platforms share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.access.owner_notices import OwnerNotices
from gateway.access.people import People
from gateway.inbound.hooks import CarryOut, Hears, Kept, SpeaksOutside, unheard, unheeded
from gateway.inbound.origins import Origins
from gateway.inbound.overheard import Overheard
from gateway.inbound.routing import Routes
from gateway.inbound.usage_limits import Limits
from runtime.bus import Bus
from runtime.core.texts import Texts
from runtime.stores.inbox import Inbox
from runtime.stores.meeting_places import PlaceStore


@dataclass(frozen=True, slots=True)
class Entrance:
    """The parts that the routers of all platforms share. `message_chars` is the length of the longest message.
    `takes_feedback`: thumbs rate what agents said."""

    inbox: Inbox
    outbound: SpeaksOutside
    bus: Bus
    texts: Texts
    routes: Routes
    origins: Origins
    limits: Limits
    people: People
    owners: OwnerNotices
    message_chars: int
    places: PlaceStore
    commands: Mapping[str, CarryOut] = field(default_factory=dict)
    choices: Mapping[str, CarryOut] = field(default_factory=dict)
    kept: Kept = unheard
    hears: Hears = unheeded
    takes_feedback: bool = True
    overheard: Overheard = field(default_factory=Overheard)
