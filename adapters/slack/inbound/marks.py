"""The marks of Slack's conversations: up to which message each was taken, durably."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeGuard

from adapters.records import Records, what_can_be_read

MAX_THREADS: Final = 20
"""The number of our threads remembered of one conversation, the ones that were written in last."""

OVERLAP_US: Final = 60_000_000
"""How far before its mark a conversation is read: events overtake each other, above all where several nodes listen."""

READING: Final = "reading"
"""The name of the record with the time up to which all was taken when a catch-up began that has not ended."""


_STAMP = re.compile(r"\d{1,12}(\.\d{1,9})?")


@dataclass(slots=True)
class SlackTalk:
    """A conversation: the time stamp of the newest message that was taken, and of our threads' roots, the last one
    written in at the end."""

    newest: str
    threads: list[str] = field(default_factory=list)

    def note(self, message: str, thread: str | None) -> None:
        """A message was taken; `thread` is the root of ours that it belongs to. What is newest never goes back."""
        if microseconds(message) > microseconds(self.newest):
            self.newest = message
        if thread is not None:
            self.threads = [*(known for known in self.threads if known != thread), thread][-MAX_THREADS:]


class Marks:
    """By `<workspace>:<channel>`. Raises StorageUnavailable, and nothing else.

    A mark is put after its message is safe, and may be lost in a crash: then the message is read again, and has the
    same event id. While history is read, a conversation's mark stays where it was until all of it is: newer messages
    come in meanwhile.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self._talks: dict[str, SlackTalk] = {}
        self._since: str | None = None
        self._floors: dict[str, SlackTalk] | None = None
        self._unread: set[str] | None = None

    async def load(self, now: str) -> None:
        """Read the marks. Without any it begins `now`, and nothing before was missed."""
        kept = dict(await self._records.all())
        since = kept.pop(READING, None)
        self._talks = what_can_be_read(kept, _read)
        self._since = since if is_stamp(since) else self._newest() or later(now, OVERLAP_US)
        self._floors = self._unread = None

    def hold(self) -> None:
        """Events may have been missed: no mark moves on from here until its conversation was read."""
        if self._floors is None:
            self._floors = {name: SlackTalk(talk.newest, list(talk.threads)) for name, talk in self._talks.items()}
        self._unread = None

    def floors(self) -> Mapping[str, SlackTalk]:
        """The marks of when `hold` was called, the conversation written in last first."""
        floors = self._floors or {}
        return dict(sorted(floors.items(), key=lambda each: microseconds(each[1].newest), reverse=True))

    @property
    def since(self) -> str:
        """Up to when all was taken in conversations that had no mark when `hold` was called."""
        return self._since or "0"

    async def taken(self, conversation: str, message: str, thread: str | None) -> None:
        """A message is safe. What has no time stamp of Slack's is not marked."""
        if not is_stamp(message):
            return
        talk = self._talks.setdefault(conversation, SlackTalk(message))
        talk.note(message, thread if is_stamp(thread) else None)
        if self._floors is None or (self._unread is not None and conversation not in self._unread):
            await self._records.put(conversation, _written(talk))

    async def begin(self, conversations: Iterable[str]) -> None:
        """These are read from now on, and no others."""
        await self._records.put(READING, self.since)
        self._unread = set(conversations)

    async def caught_up(self, conversation: str) -> None:
        """One of them is read."""
        if self._unread is None:
            return
        self._unread.discard(conversation)
        if conversation in self._talks:
            await self._records.put(conversation, _written(self._talks[conversation]))

    async def end(self) -> None:
        """All of them are, unless `hold` was called again."""
        if self._unread is None:
            return
        self._floors = self._unread = None
        self._since = self._newest() or self._since
        await self._records.remove(READING)

    def _newest(self) -> str | None:
        return max((talk.newest for talk in self._talks.values()), key=microseconds, default=None)


def is_stamp(value: object) -> TypeGuard[str]:
    """Whether something is a time stamp of Slack's."""
    return isinstance(value, str) and _STAMP.fullmatch(value) is not None


def microseconds(stamp: str) -> int:
    """A time stamp of Slack's, as a number that can be compared. Raises ValueError for another form."""
    seconds, _, rest = stamp.partition(".")
    return int(seconds) * 1_000_000 + int((rest + "000000")[:6])


def later(stamp: str, microseconds_later: int) -> str:
    """A time stamp so much later, or earlier where it is negative."""
    at_us = microseconds(stamp) + microseconds_later
    return f"{at_us // 1_000_000}.{at_us % 1_000_000:06d}"


def _written(talk: SlackTalk) -> str:
    return json.dumps([talk.newest, *talk.threads])


def _read(text: str) -> SlackTalk:
    newest, *threads = json.loads(text)
    if not is_stamp(newest):
        raise ValueError(f"{newest!r} is no time stamp")
    return SlackTalk(newest, [thread for thread in threads if is_stamp(thread)])
