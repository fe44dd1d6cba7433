"""People who look at rooms on other nodes, as these tell it. Each report expires unless its node repeats it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adapters.web.codec import Person, Presence
from runtime.core.clock import Clock

VALID_S = 90.0
"""How long people are here still, of whom their node says nothing more: it was killed."""

RENEW_S = 30.0
"""The time after which a node tells again who is there."""

MAX_TOLD = 300
"""The people of a room whom a node names to others; further ones are counted."""


@dataclass(frozen=True, slots=True)
class _Told:
    presence: Presence
    until_s: float


class Elsewhere:
    """The people of all rooms on other nodes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rooms: dict[str, dict[str, _Told]] = {}

    def told(self, node: str, room: str, presence: Presence) -> None:
        """A node says who looks at a room there now."""
        nodes = self._rooms.setdefault(room, {})
        nodes.pop(node, None)
        if presence.count:
            nodes[node] = _Told(presence, self._clock.monotonic() + VALID_S)
        if not nodes:
            del self._rooms[room]

    def with_these(self, room: str, here: Mapping[str, Person]) -> Presence:
        """All people of a room, with those who look at it here, each once."""
        people, present = dict(here), len(here)
        for told in self._rooms.get(room, {}).values():
            new = [one for one in told.presence.people if one.id not in people]
            people |= {one.id: one for one in new}
            present += told.presence.count - len(told.presence.people) + len(new)
        return Presence(tuple(people.values()), present)

    def forget_ended(self) -> Sequence[str]:
        """Forget what has run out; the rooms whose people have changed by that."""
        now_s, changed = self._clock.monotonic(), list[str]()
        for room, nodes in list(self._rooms.items()):
            for node, told in list(nodes.items()):
                if told.until_s <= now_s:
                    self.told(node, room, Presence((), 0))
                    changed.append(room)
        return changed
