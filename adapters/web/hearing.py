"""Whom a message in a room is for, what it answers, and what a thread begins with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from adapters.adapter import Inbound
from adapters.web.board import RoomBoard
from adapters.web.gatherings import PeopleDirectory
from adapters.web.rooms import RoomRules
from runtime.core.address import Address
from runtime.core.quote import Quote
from runtime.core.room import RoomMessage

_AT = re.compile(r"(?<![\w@])@(\w)")

MAX_QUOTE = 200
_READ_BACK = 400
"""The number of messages of a room among which those of one thread are looked for."""
_LOOKED_BACK = 60
"""The number of messages among which others are looked for."""
_MENTION = re.compile(r"\[(@[^\]\n]*)\]\(person:[^)\s]*\)")
_TEAM = re.compile(r"@(team|all|everyone|everybody)\b", re.IGNORECASE)
"""What is for all, agents too, whoever has taken it as a name."""
_ASKS = re.compile(r"[?？؟][\s*_`)\]}\"'»”’]*$")  # noqa: RUF001 - in other scripts


class Hearing(Struct, frozen=True):
    """Decides whether agents hear a message.

    What begins with `@` and the name of somebody who may come into the room is for that person. Elsewhere agents hear
    everything, but in rooms that match one of `mentions_only` (with `*` for anything), and in direct rooms of two
    people, only commands, mentions of an agent, replies to an agent, and threads below what an agent said.
    """

    board: RoomBoard
    directory: PeopleDirectory
    rules: RoomRules

    async def hears(self, said: RoomMessage, room: str, *, command: bool) -> bool:
        if command:
            return True
        text = _MENTION.sub(r"\1", said.text).lstrip()
        charter = await self.board.charters.know(room)
        quiet = charter.among_people or any(fnmatchcase(room, pattern) for pattern in self.rules.mentions_only)
        if not quiet and not text.startswith("@"):
            return True
        recent = await self.board.newest(room, _LOOKED_BACK)
        agents = {each.author_name for each in recent if each.author_kind == "agent"}
        if self._mentions(text, agents):
            return True
        if quiet:
            return await self._answers_an_agent(said, room)
        wrote = {each.author_name for each in recent if each.author_kind == "person"}
        come = await self.directory.all() if charter.kind == "open" else ()
        here = {person.name for person in (*come, *self.board.people(room))}
        others = {*wrote, *here, *charter.people.values()} - {said.author_name}
        to_one = _MENTION.match(said.text.lstrip()) or any(_begins_with(text[1:], name) for name in others)
        return bool(_TEAM.match(text)) or not to_one

    def _mentions(self, text: str, agents: set[str]) -> bool:
        """Whether some `@` stands before the name of an agent, one who has spoken here or one of the programs."""
        for match in _AT.finditer(text):
            behind = text[match.start(1) :]
            words = behind.split(maxsplit=3)[:3]
            names = [" ".join(words[:count]).rstrip(".,:;!?") for count in range(1, len(words) + 1)]
            if any(_begins_with(behind, name) for name in agents) or any(map(self.rules.is_agent, names)):
                return True
        return False

    async def _answers_an_agent(self, said: RoomMessage, room: str) -> bool:
        above = [id_ for id_ in (said.thread, said.quote.message_id if said.quote else None) if id_ is not None]
        for id_ in above:
            message = await self.board.message(room, id_)
            if message is not None and message.author_kind == "agent":
                return True
        return False


def _begins_with(text: str, name: str) -> bool:
    return text.casefold().startswith(name.casefold()) and not re.match(r"\w", text[len(name) :])


class RoomThreads(Struct, frozen=True):
    """The threads of rooms. An agent's message is an open question while it is the room's newest, asks something, and
    nobody has replied to it, be it in the room or in its thread. The thread below choices belongs to their session.
    """

    board: RoomBoard

    async def question(self, room: str, thread: str | None) -> RoomMessage | None:
        """The open question above a thread, if there is one. A reply there is heard in the room, as its answer."""
        asked = None if thread is None else await self.board.message(room, thread)
        if asked is None or asked.author_kind != "agent" or asked.thread is not None or not asked.final:
            return None
        if asked.choices or not _ASKS.search(asked.text):
            return None
        recent = await self.board.newest(room, _LOOKED_BACK)
        if not any(each.id == asked.id for each in recent):
            return None
        later = [each for each in recent if each.seq > asked.seq and each.author_kind != "notice"]
        return None if any(each.thread in (None, asked.id) for each in later) else asked

    async def earlier(self, to: Address, before: str, at_most: int) -> Sequence[Inbound]:
        """What was said to all in a room, or in a thread and what it hangs on, before a message."""
        last = await self.board.message(to.conversation, before)
        recent = await self.board.newest(to.conversation, _READ_BACK)
        said = [
            each
            for each in recent
            if _is_for_all(each) and each.id != before and (last is None or each.seq < last.seq)
            if to.thread in (each.thread, each.id)
        ]
        first = None if to.thread in (None, before) else await self.board.message(to.conversation, to.thread or "")
        if first is None or not _is_for_all(first):
            return [_earlier(each, to) for each in said[-at_most:]]
        replies = [each for each in said if each.id != first.id]
        return [_earlier(each, to) for each in (first, *replies[max(0, len(replies) - at_most + 1) :])]

    async def answered(self, room: str, said: RoomMessage) -> RoomMessage | None:
        """What a message answers: what it quotes, or, as the first message of a thread, what the thread hangs on."""
        if said.quote is not None:
            return await self.board.message(room, said.quote.message_id)
        if said.thread is None:
            return None
        recent = await self.board.newest(room, _LOOKED_BACK)
        if any(each.thread == said.thread and each.id != said.id for each in recent):
            return None
        return await self.board.message(room, said.thread)


def _is_for_all(message: RoomMessage) -> bool:
    """Whether somebody said it to all who are there."""
    return message.author_kind != "notice" and message.final and not (message.deleted or message.to)


def heard_in(message: RoomMessage) -> str | None:
    """The thread in which agents hear a message; None for the room, where an answer to its question is heard."""
    quoted = message.quote.message_id if message.quote is not None else None
    return None if message.author_kind == "person" and quoted == message.thread else message.thread


def _earlier(message: RoomMessage, to: Address) -> Inbound:
    is_person = message.author_kind == "person"
    return Inbound(
        address=to,
        event_id="",
        person_id=message.author_id if is_person else "",
        person_name=message.author_name,
        text=_MENTION.sub(r"\1", message.text),
        sent_at=message.sent_at,
        private=False,
        addressed=False,
        attachments=message.files,
        message_id=message.id,
        quote=message.quote,
    )


async def quote_of(board: RoomBoard, room: str, message_id: str) -> Quote | None:
    """A short quote of a message of the room, to be shown; None when the message no longer exists."""
    quoted = await board.message(room, message_id)
    if quoted is None:
        return None
    names = ", ".join(file.name for file in quoted.files)
    text = " ".join(_MENTION.sub(r"\1", quoted.text or names).split())
    short = text if len(text) <= MAX_QUOTE else text[: MAX_QUOTE - 1].rstrip() + "…"
    return Quote(quoted.id, quoted.author_name, short, person=_person_of(quoted))


def whole_quote(message: RoomMessage) -> Quote:
    files = tuple(file.name for file in message.files)
    text = _MENTION.sub(r"\1", message.text)
    return Quote(message.id, message.author_name, text, files=files, person=_person_of(message))


def _person_of(message: RoomMessage) -> str:
    return message.author_id if message.author_kind == "person" else ""
