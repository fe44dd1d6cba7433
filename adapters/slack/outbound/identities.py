"""The icon of each agent: its own in its conversation, as long as there are icons left."""

from __future__ import annotations

from typing import Final
from zlib import crc32

from adapters.recent import Recent
from adapters.slack.codec.addresses import Face, shown_name
from runtime.core.address import Address, Speaker

ICONS: Final = tuple(
    f":{name}:"
    for name in [
        "robot_face",
        "owl",
        "fox_face",
        "octopus",
        "dolphin",
        "bee",
        "turtle",
        "penguin",
        "koala",
        "hedgehog",
        "panda_face",
        "whale",
        "unicorn_face",
        "eagle",
        "tiger",
        "frog",
    ]
)


class AgentIcons:
    """An agent's icon follows from its name; where another agent of its conversation has that one, it is the next that
    is free. So it is the same everywhere and after a restart, unless two names fall together."""

    def __init__(self, most: int) -> None:
        """Remember the icons of at most this number of conversations."""
        self._taken = Recent[str, dict[str, str]](most)

    def of(self, to: Address, speaker: Speaker) -> Face | None:
        """Name and icon; None for the gateway itself (id "")."""
        name = shown_name(speaker)
        if name is None:
            return None
        taken = self._taken.get(to.key) or {}
        who = f"{speaker.id} {name}"
        if who not in taken:
            taken[who] = _icon(name, taken)
            self._taken.keep(to.key, taken)
        return Face(name, taken[who])


def _icon(name: str, taken: dict[str, str]) -> str:
    first = crc32(name.encode()) % len(ICONS)
    wanted = (*ICONS[first:], *ICONS[:first])
    return next((icon for icon in wanted if icon not in taken.values()), wanted[0])
