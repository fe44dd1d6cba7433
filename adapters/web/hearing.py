"""Whom a message in a room is for: the agents, or people among themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from adapters.web.board import Board
from runtime.core.room import RoomMessage

_AT = re.compile(r"(?<![\w@])@(\w)")
_LOOKED_BACK = 60
"""The number of messages whose authors count as people of the room."""

IsAgent = Callable[[str], bool]


class Hearing:
    """Decides whether agents hear a message.

    What begins with `@` and a person's name is for that person. Elsewhere agents hear everything, but in rooms that
    match one of `mentions_only` (with `*` for anything), and in direct rooms of two people, only commands, mentions
    of an agent, replies to an agent, and threads below what an agent said.
    """

    def __init__(self, board: Board, is_agent: IsAgent, mentions_only: Sequence[str] = ()) -> None:
        self._board = board
        self._is_agent = is_agent
        self._mentions_only = mentions_only

    async def hears(self, said: RoomMessage, room: str, *, command: bool) -> bool:
        """Whether it is for the agents."""
        if command:
            return True
        charter = await self._board.charters.know(room)
        quiet = charter.among_people or any(fnmatchcase(room, pattern) for pattern in self._mentions_only)
        if not quiet and not said.text.lstrip().startswith("@"):
            return True
        recent = await self._board.newest(room, _LOOKED_BACK)
        agents = {each.author_name for each in recent if each.author_kind == "agent"}
        if self._mentions(said.text, agents):
            return True
        if quiet:
            return await self._answers_an_agent(said, room)
        wrote = {each.author_name for each in recent if each.author_kind == "person"}
        others = (wrote | {person.name for person in self._board.people(room)}) - {said.author_name}
        return not any(_begins_with(said.text.lstrip()[1:], name) for name in others)

    def _mentions(self, text: str, agents: set[str]) -> bool:
        """Whether some `@` stands before the name of an agent, one who has spoken here or one of the programs."""
        for match in _AT.finditer(text):
            behind = text[match.start(1) :]
            words = behind.split(maxsplit=3)[:3]
            names = [" ".join(words[:count]).rstrip(".,:;!?") for count in range(1, len(words) + 1)]
            if any(_begins_with(behind, name) for name in agents) or any(map(self._is_agent, names)):
                return True
        return False

    async def _answers_an_agent(self, said: RoomMessage, room: str) -> bool:
        above = [id_ for id_ in (said.thread, said.quote.message_id if said.quote else None) if id_ is not None]
        for id_ in above:
            message = await self._board.message(room, id_)
            if message is not None and message.author_kind == "agent":
                return True
        return False


def _begins_with(text: str, name: str) -> bool:
    return text.casefold().startswith(name.casefold()) and not re.match(r"\w", text[len(name) :])
