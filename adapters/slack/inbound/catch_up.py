"""History: messages written while nobody was connected, since Slack repeats an undelivered event for some six minutes,
and then drops it; the marks up to which each conversation was taken; and what was said in a thread before.
"""

from __future__ import annotations

import json
import logging
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeGuard, TypeVar

import anyio
from msgspec import Struct, field

from adapters.adapter import NOT_UNDERSTOOD, Inbound
from adapters.records import Records, what_can_be_read
from adapters.retrying import FIRST_PAUSE_S, LONGEST_PAUSE_S, MayFail, PlatformPatience
from adapters.slack.api.web import MOST_PAGES
from adapters.slack.api.workspaces import SlackWorkspace, SlackWorkspaces
from adapters.slack.codec.addresses import PLATFORM, SlackPerson, channel_of, team_of
from adapters.slack.codec.events import earlier_of, is_said, is_told, people_in
from adapters.slack.inbound.deliveries import Delivery, SlackDeliveries, message_id
from adapters.slack.outbound.answers import SlackThreads
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import AuthFailed, MessageGone, NotDelivered, OutcomeUncertain, RateLimited, StorageUnavailable

MAX_CONVERSATIONS: Final = 100
"""The number of conversations that are read at once, the most recently active first."""
MAX_MESSAGES: Final = 500
"""The number of messages read of one conversation; of more, the newest."""
MAX_OTHER_THREADS: Final = 20
"""The number of threads that are not ours, as far as is known, and are read for a mention, the newest first."""
_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")
_Message = Mapping[str, Any]

MAX_THREADS: Final = 20
"""The number of our threads remembered of one conversation, the ones that were written in last."""
OVERLAP_US: Final = 60_000_000
"""How far before its mark a conversation is read: events overtake each other, above all where several nodes listen."""
READING: Final = "reading"
"""The name of the record with the time up to which all was taken when a catch-up began that has not ended."""
_STAMP = re.compile(r"\d{1,12}(\.\d{1,9})?")


FindPerson = Callable[[str, SlackWorkspace], Awaitable[SlackPerson | None]]
"""Tells a person by their id; None where Slack does not answer now."""


class SlackTalk(Struct):
    """A conversation: the stamps of the newest message taken, and of our threads' roots, the latest last."""

    newest: str
    threads: list[str] = field(default_factory=list)

    def note(self, message: str, thread: str | None) -> None:
        """A message was taken; `thread` is the root of ours that it belongs to. What is newest never goes back."""
        if microseconds(message) > microseconds(self.newest):
            self.newest = message
        if thread is not None:
            self.threads = [*(known for known in self.threads if known != thread), thread][-MAX_THREADS:]


class ChannelMarks:
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


class SlackCatchUp:
    """Reads history after the marks, beside the events that come in, into the same deliveries.

    A message has one event id, whether Slack delivers it or it is read, so what comes both ways counts once, also with
    several nodes. Messages of one conversation are read oldest first, each safe before the next. Newer ones that are
    delivered meanwhile are not held back: Slack would drop them.

    What cannot be read: edits, deletions, reactions, commands and presses; conversations without a mark, where the app
    may not list its conversations (`channels:read` and its like); a thread that is none of the last ones of its
    conversation and lies before all that is read. An app that is sold outside of Slack's Marketplace may ask for 15
    messages a minute; it catches up as slowly.
    """

    def __init__(self, workspaces: SlackWorkspaces, threads: SlackThreads, marks: ChannelMarks, clock: Clock) -> None:
        self._workspaces = workspaces
        self._threads = threads
        self._marks = marks
        self._clock = clock
        self._missed = anyio.Event()

    def missed(self) -> None:
        self._marks.hold()
        self._missed.set()

    async def run(self, deliveries: SlackDeliveries) -> None:
        """Catch up whenever something may have been missed, until cancelled."""
        while True:
            await self._missed.wait()
            self._missed = anyio.Event()
            pause_s = FIRST_PAUSE_S
            while not await self._caught_up(deliveries):
                await self._clock.sleep_until(self._clock.monotonic() + pause_s)
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def _caught_up(self, deliveries: SlackDeliveries) -> bool:
        try:
            await self._catch_up(deliveries)
        except StorageUnavailable as error:
            _log.warning("Catching up on Slack waits for the database", extra={"error": str(error)})
            return False
        except AuthFailed as error:
            _log.warning("History on Slack cannot be read", extra={"error": str(error)})
        return True

    async def _catch_up(self, deliveries: SlackDeliveries) -> None:
        wanted = await self._conversations()
        await self._marks.begin(wanted)
        for conversation, talk in wanted.items():
            try:
                await self._catch_up_in(conversation, talk, deliveries)
            except (AuthFailed, StorageUnavailable):
                raise
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one conversation, the others are read
                about = {"conversation": conversation, "error": repr(error)}
                _log.warning("History of a conversation on Slack cannot be read", extra=about, exc_info=error)
            await self._marks.caught_up(conversation)
        await self._marks.end()

    async def _catch_up_in(self, conversation: str, talk: SlackTalk, deliveries: SlackDeliveries) -> None:
        team, _, channel = conversation.partition(":")
        for thread in talk.threads:
            self._threads.ours.keep(Address(PLATFORM, conversation, thread).key, True)
        for message in await self._read(team, channel, talk):
            await self._deliver(team, channel, message, deliveries)

    async def _conversations(self) -> dict[str, SlackTalk]:
        """The conversations to read with their marks, those with one first."""
        wanted = dict(self._marks.floors())
        for team in await self._asked(self._workspaces.teams) or ():
            listed = await self._asked(partial(self._listed, team))
            wanted |= {name: SlackTalk(self._marks.since) for name in listed or () if name not in wanted}
        if len(wanted) > MAX_CONVERSATIONS:
            _log.warning("More conversations than can be caught up with", extra={"conversations": len(wanted)})
        return dict(list(wanted.items())[:MAX_CONVERSATIONS])

    async def _listed(self, team: str) -> Sequence[str]:
        workspace = await self._workspaces.of(team)
        return [f"{team}:{channel}" for channel in await workspace.api.conversations()]

    async def _read(self, team: str, channel: str, talk: SlackTalk) -> Sequence[_Message]:
        """What was missed in a conversation and its threads, oldest first."""
        workspace = await self._asked(partial(self._workspaces.of, team))
        if workspace is None:
            return []
        after = later(talk.newest, -OVERLAP_US)
        floor = microseconds(after)
        oldest = min([after, *(later(thread, -1) for thread in talk.threads)], key=microseconds)
        roots = await self._pages(workspace, channel, None, oldest)
        found = {root["ts"]: root for root in roots if microseconds(root["ts"]) > floor}
        for thread in _behind(roots, talk, floor):
            replies = await self._pages(workspace, channel, thread, after)
            found |= {reply["ts"]: reply for reply in replies if microseconds(reply["ts"]) > floor}
        said = (message for message in found.values() if is_said(message) and "bot_id" not in message)
        missed = sorted(said, key=lambda message: microseconds(message["ts"]))
        if len(missed) > MAX_MESSAGES:
            _log.warning("More was written than can be caught up with", extra={"messages": len(missed)})
        return missed[-MAX_MESSAGES:]

    async def _pages(
        self, workspace: SlackWorkspace, channel: str, thread: str | None, after: str
    ) -> list[dict[str, Any]]:
        """The messages of a thread, or outside of threads; those up to where Slack does not give them."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = partial(workspace.api.page, channel, thread, after, cursor)
            messages, cursor = await self._asked(page) or ((), None)
            found += messages
            if not cursor:
                break
        return found

    async def _asked(self, call: Callable[[], Awaitable[_Answer]]) -> _Answer | None:
        """The answer, however long it takes; None where Slack refuses it."""
        patience = PlatformPatience(self._clock, "History on Slack cannot be read yet")
        with MayFail(_log.info, "History on Slack cannot be read", (NotDelivered, MessageGone)):
            return await patience.until_answered(call, but=(AuthFailed, NotDelivered, MessageGone))
        return None

    async def _deliver(self, team: str, channel: str, message: _Message, deliveries: SlackDeliveries) -> None:
        """Hand a message over, again and again until it is safe."""
        event = {**message, "channel": channel}
        if event.get("thread_ts") == event["ts"]:  # the root, which had no thread when it was written
            del event["thread_ts"]
        delivery = Delivery(message_id(event), {"event": event}, again=True, team=team)
        while not (await deliveries.stored(delivery))[0]:
            await self._clock.sleep_until(self._clock.monotonic() + FIRST_PAUSE_S)


def _behind(roots: Sequence[_Message], talk: SlackTalk, floor: int) -> Sequence[str]:
    """The threads with something new, ours first: those whose root says so, and those whose root was not read."""
    seen = {root["ts"] for root in roots}
    active = [root["ts"] for root in roots if _has_news(root, floor)]
    elsewhere = [root["thread_ts"] for root in roots if root.get("thread_ts") not in (None, *seen)]
    ours = [thread for thread in reversed(talk.threads) if thread in active or thread not in seen]
    others = [thread for thread in dict.fromkeys([*active, *elsewhere]) if thread not in ours]
    return [*ours, *others[:MAX_OTHER_THREADS]]


def _has_news(root: _Message, floor: int) -> bool:
    latest = root.get("latest_reply")
    return bool(root.get("reply_count")) and (latest is None or microseconds(latest) > floor)


async def earlier_in(
    workspaces: SlackWorkspaces, person: FindPerson, to: Address, before: str, at_most: int
) -> Sequence[Inbound]:
    """What a thread began with, and the latest before another message. Outside of threads a mention begins its own."""
    if to.thread is None or to.thread == before:
        return []
    workspace = await workspaces.of(team_of(to))
    found = await _thread_before(workspace, channel_of(to), to.thread, before, at_most)
    people = await _people_of(found, person, workspace)
    earlier: list[Inbound] = []
    for message in found:
        with MayFail(_log.info, "A message of Slack's history is not understood", NOT_UNDERSTOOD):
            earlier.append(earlier_of(message, to, workspace.bot, people))
    return earlier


async def _thread_before(
    workspace: SlackWorkspace, channel: str, thread: str, before: str, at_most: int
) -> list[dict[str, Any]]:
    """Of a thread that Slack does not give in one go, what it gave."""
    first: list[dict[str, Any]] = []
    latest = deque[dict[str, Any]](maxlen=max(0, at_most - 1))
    try:
        async for message in workspace.api.messages(channel, thread, None):
            if microseconds(message["ts"]) >= microseconds(before):
                break
            if is_told(message):
                (latest if first else first).append(message)
    except (RateLimited, OutcomeUncertain):
        if not first:
            raise
    return [*first, *latest]


async def _people_of(
    messages: Sequence[Mapping[str, Any]], find: FindPerson, workspace: SlackWorkspace
) -> dict[str, SlackPerson]:
    known: dict[str, SlackPerson] = {}

    async def look_up(user: str) -> None:
        person = await find(user, workspace)
        if person is not None:
            known[user] = person

    async with anyio.create_task_group() as tasks:
        for user in dict.fromkeys(user for message in messages for user in people_in(message)):
            if user != workspace.bot.user_id:
                tasks.start_soon(look_up, user)
    return known
