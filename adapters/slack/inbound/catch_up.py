"""Messages written while nobody was connected, read from history. Slack repeats an undelivered event for some six
minutes, and then drops it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import anyio

from adapters.slack.api.web import MOST_PAGES
from adapters.slack.api.workspaces import Workspace, Workspaces
from adapters.slack.codec.addresses import PLATFORM
from adapters.slack.codec.events import is_said
from adapters.slack.inbound.deliveries import Deliveries, Delivery, message_id
from adapters.slack.inbound.marks import OVERLAP_US, Marks, SlackTalk, later, microseconds
from adapters.slack.outbound.threads import SlackThreads
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, AuthFailed, MessageGone, NotDelivered, RateLimited, StorageUnavailable

MAX_CONVERSATIONS: Final = 100
"""The number of conversations that are read at once, the most recently active first."""
MAX_MESSAGES: Final = 500
"""The number of messages read of one conversation; of more, the newest."""
MAX_OTHER_THREADS: Final = 20
"""The number of threads that are not ours, as far as is known, and are read for a mention, the newest first."""
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 60.0

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")
_Message = Mapping[str, Any]


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

    def __init__(self, workspaces: Workspaces, threads: SlackThreads, marks: Marks, clock: Clock) -> None:
        self._workspaces = workspaces
        self._threads = threads
        self._marks = marks
        self._clock = clock
        self._missed = anyio.Event()

    def missed(self) -> None:
        """Events may have been missed up to now."""
        self._marks.hold()
        self._missed.set()

    async def run(self, deliveries: Deliveries) -> None:
        """Catch up whenever something may have been missed, until cancelled."""
        while True:
            await self._missed.wait()
            self._missed = anyio.Event()
            pause_s = FIRST_PAUSE_S
            while not await self._caught_up(deliveries):
                await self._clock.sleep_until(self._clock.monotonic() + pause_s)
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def _caught_up(self, deliveries: Deliveries) -> bool:
        try:
            await self._catch_up(deliveries)
        except StorageUnavailable as error:
            _log.warning("Catching up on Slack waits for the database", extra={"error": str(error)})
            return False
        except AuthFailed as error:
            _log.warning("History on Slack cannot be read", extra={"error": str(error)})
        return True

    async def _catch_up(self, deliveries: Deliveries) -> None:
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

    async def _catch_up_in(self, conversation: str, talk: SlackTalk, deliveries: Deliveries) -> None:
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

    async def _pages(self, workspace: Workspace, channel: str, thread: str | None, after: str) -> list[dict[str, Any]]:
        """The messages of a thread, or outside of threads; those up to where Slack does not give them."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await self._asked(partial(workspace.api.page, channel, thread, after, cursor))
            if page is None:
                break
            found += page[0]
            cursor = page[1]
            if not cursor:
                break
        return found

    async def _asked(self, call: Callable[[], Awaitable[_Answer]]) -> _Answer | None:
        """The answer, however long it takes; None where Slack refuses it."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                return await call()
            except AuthFailed:
                raise
            except (NotDelivered, MessageGone) as error:
                _log.info("History on Slack cannot be read", extra={"error": str(error)})
                return None
            except AdapterError as error:
                wait_s = error.retry_after_s if isinstance(error, RateLimited) else pause_s
            await self._clock.sleep_until(self._clock.monotonic() + wait_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def _deliver(self, team: str, channel: str, message: _Message, deliveries: Deliveries) -> None:
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
