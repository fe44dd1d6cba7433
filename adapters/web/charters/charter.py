"""A room's record besides its messages: who may see it, its title, who made it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from adapters.records import what_can_be_read
from runtime.core.address import Address

RoomKind = Literal["open", "private", "direct"]

DIRECT, PRIVATE = "direct-", "private-"
"""The beginnings of the ids of rooms that are not open. Nobody can open a room of such a name."""

MAX_TITLE = 80
"""The longest title, in code points."""

MAX_PEOPLE = 500
"""The people of one private room."""

_ID_BYTES = 12
_CLOSED = re.compile(rf"(?:{DIRECT}|{PRIVATE})[0-9a-f]{{8,24}}")
_WEB = "web"


@dataclass(frozen=True, slots=True)
class Charter:
    """A room as its people made it. A room without a record is open, and nobody is known to have made it.

    `people` are names by id, of a room that is not open. A `direct` room has two people, or a person and the `agent`.
    `left` are those who took an open room off their list.
    """

    title: str = ""
    kind: RoomKind = "open"
    made_by: str = ""
    people: Mapping[str, str] = field(default_factory=dict)
    agent: str = ""
    archived: bool = False
    left: frozenset[str] = frozenset()

    def admits(self, person_id: str) -> bool:
        """Whether a person may see the room, and that it exists."""
        return self.kind == "open" or person_id in self.people

    def lists(self, person_id: str) -> bool:
        """Whether the room is on a person's list."""
        return self.admits(person_id) and person_id not in self.left

    def title_for(self, person_id: str) -> str:
        """The title that a person sees: of a direct room the name of the other. Empty: the room's id."""
        if self.kind != "direct":
            return self.title
        others = [name for id_, name in self.people.items() if id_ != person_id]
        return self.agent or ", ".join(others) or self.title

    @property
    def among_people(self) -> bool:
        """Whether two people talk here with each other, so that agents hear only what is for them."""
        return self.kind == "direct" and not self.agent

    def text(self) -> str:
        """As it is kept."""
        return json.dumps(
            {
                "title": self.title,
                "kind": self.kind,
                "made_by": self.made_by,
                "people": dict(self.people),
                "agent": self.agent,
                "archived": self.archived,
                "left": sorted(self.left),
            },
            ensure_ascii=False,
        )


def charter_of(room: str, text: str | None) -> Charter:
    """The charter that is kept as this text. Without one a room is open, unless its id is that of another kind: whoever
    was in that room, nobody sees it any more. One that cannot be read admits nobody.
    """
    if text is None:
        return Charter(kind="private") if _CLOSED.fullmatch(room) else Charter()
    known = what_can_be_read({room: text}, _charter)
    return known.get(room, Charter(kind="private"))


def _charter(text: str) -> Charter:
    data = json.loads(text)
    return Charter(**{**data, "left": frozenset(data.get("left", ()))})


def is_closed(address: Address) -> bool:
    """Whether an address is a room that is not open, or in one."""
    return address.platform == _WEB and address.conversation.startswith((DIRECT, PRIVATE))


def direct_room(one: str, other: str) -> str:
    """The id of the room of two, the same for both."""
    names = "\n".join(sorted((one, other)))
    return DIRECT + hashlib.blake2b(names.encode(), digest_size=_ID_BYTES).hexdigest()
