"""The conversations in memory: activated by events, kept while work is in progress, then forgotten."""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct, field

from runtime.channels.outbox import show_once
from runtime.core.address import GATEWAY, platform_in, session_of
from runtime.core.background import WakeSignal
from runtime.core.clock import Clock
from runtime.core.errors import LeaseLost
from runtime.core.ids import SessionId
from runtime.core.message import Choice
from runtime.core.page import PageSpec
from runtime.events.sessions import ContentIsLocked
from runtime.sessions.conversation import ConversationTask
from runtime.sessions.node_context import NodeContext
from runtime.stores.inbox import LOCKED, NOTICE, Inbox, InboxEntry
from runtime.stores.sessions import Lease, SessionRecord

AT_ONCE = 8
"""The number of sessions that come back at the same time. What people write meanwhile waits for these, not for all."""

LONGEST_S = 1.0
"""After this time a session lets the next one come back too: it waits for something else, such as a server of tools."""

WRITTEN_WITHIN_S = 3.0
"""How long a conversation that is parked waits for answers of its platform and for the store."""

_PAGE_CHARS = 32


class Comebacks:
    """The sessions that are not in memory yet. Conversations of people come before tasks, which nobody waits for."""

    def __init__(
        self, come_back: Callable[[Lease, SessionRecord], Awaitable[None]], clock: Clock, tasks: TaskGroup
    ) -> None:
        """`come_back` returns when the session is where it was, and listens."""
        self._come_back = come_back
        self._clock = clock
        self._group = tasks
        self._talks: dict[str, tuple[Lease, SessionRecord]] = {}
        self._tasks: dict[str, tuple[Lease, SessionRecord]] = {}
        self._under_way = 0

    def __len__(self) -> int:
        return len(self._talks) + len(self._tasks)

    def add(self, lease: Lease, record: SessionRecord) -> None:
        """Have a session come back when it is its turn."""
        key = record.address.key
        (self._talks if session_of(record.address) is None else self._tasks)[key] = (lease, record)
        if self._under_way < AT_ONCE:
            self._under_way += 1
            self._group.start_soon(self._work)

    def take(self, key: str) -> SessionRecord | None:
        """The session of a conversation in which something happens now: it does not wait for its turn."""
        found = self._talks.pop(key, None) or self._tasks.pop(key, None)
        return None if found is None else found[1]

    def forget(self, shard: int) -> None:
        """Leave a shard's sessions to the next node."""
        for waiting in (self._talks, self._tasks):
            for key in [key for key, (lease, _) in waiting.items() if lease.shard == shard]:
                del waiting[key]

    def loads(self) -> Counter[int]:
        """The number of waiting sessions in each shard."""
        return Counter(lease.shard for waiting in (self._talks, self._tasks) for lease, _ in waiting.values())

    async def _work(self) -> None:
        while waiting := self._talks or self._tasks:
            lease, record = waiting.pop(next(iter(waiting)))
            async with anyio.create_task_group() as race:
                race.start_soon(self._end_after, LONGEST_S, race)
                await self._come_back(lease, record)
                race.cancel_scope.cancel()
        self._under_way -= 1

    async def _end_after(self, seconds: float, race: TaskGroup) -> None:
        await self._clock.sleep_until(self._clock.monotonic() + seconds)
        race.cancel_scope.cancel()


class _Living(Struct, eq=False):
    """A conversation in memory, under the one lease for which its backlog was read."""

    conversation: ConversationTask
    lease: Lease
    scope: anyio.CancelScope
    ended: bool = False
    end: WakeSignal = field(default_factory=WakeSignal)


class ConversationRegistry:
    """Brings each event to its conversation. All conversations are tasks of one group."""

    def __init__(self, around: NodeContext, inbox: Inbox, tasks: TaskGroup) -> None:
        self._around = around
        self._around_on: dict[str, NodeContext] = {}
        self._inbox = inbox
        self._tasks = tasks
        self._conversations: dict[str, _Living] = {}
        self._parked: set[int] = set()
        self._comebacks = Comebacks(self._come_back, around.clock, tasks)

    def __len__(self) -> int:
        return len(self._conversations) + len(self._comebacks)

    async def gained(self, lease: Lease) -> None:
        """A shard is ours: go on with what was going on in it, by and by."""
        self.lost(lease.shard)
        if self._around.resting.alarm is not None:
            await self._around.resting.alarm.watch(lease.shard)
        for feature in self._around.features:
            await feature.gained(lease)
        for record in await self._unfinished(lease.shard):
            if record.address.key not in self._conversations:
                self._comebacks.add(lease, record)

    async def _come_back(self, lease: Lease, record: SessionRecord) -> None:
        living = self._activate(lease, record.address.key, record)
        await living.conversation.backlog.wanted.wait()

    async def _unfinished(self, shard: int) -> Sequence[SessionRecord]:
        """The sessions that others were at work in, asked for at once: none of them goes on before all are known, so
        that a shard with many is ready soon, and takes what people say now."""
        found: dict[SessionId, SessionRecord | None] = dict.fromkeys(await self._around.store.unfinished(shard))

        async def ask(session: SessionId) -> None:
            found[session] = await self._around.store.session(shard, session)

        async with anyio.create_task_group() as asking:
            for session in found:
                asking.start_soon(ask, session)
        return [record for record in found.values() if record is not None]

    def lost(self, shard: int) -> None:
        """Drop a shard that is another node's now: its conversations leave memory, with everything uncommitted.

        Under a later lease everything is read again; what was left here would be taken a second time.
        """
        self._parked.discard(shard)
        self._comebacks.forget(shard)
        if self._around.resting.alarm is not None:
            self._around.resting.alarm.forget(shard)
        for feature in self._around.features:
            feature.lost(shard)
        for living in self._living_in(shard):
            living.scope.cancel()
        for key in [key for key, living in self._conversations.items() if living.lease.shard == shard]:
            del self._conversations[key]

    def loads(self) -> Mapping[int, int]:
        """The number of working conversations in each shard."""
        at_work = Counter(one.lease.shard for one in self._conversations.values() if not one.conversation.quiet)
        return at_work + self._comebacks.loads()

    async def park(self, shard: int, within_s: float) -> None:
        """Let what goes on in a shard come to an end, at most so long; what goes on then stops where it is.

        On return no conversation of the shard is in memory, and everything is written down that people have seen.
        Until the shard is lost or gained, events come to nobody but those conversations.
        """
        self._parked.add(shard)
        self._comebacks.forget(shard)
        async with anyio.create_task_group() as tasks:
            for living in self._living_in(shard):
                tasks.start_soon(_park, living, within_s)

    def _living_in(self, shard: int) -> list[_Living]:
        return [living for living in self._conversations.values() if living.lease.shard == shard]

    def dispatch(self, entry: InboxEntry, lease: Lease) -> None:
        key, parked = entry.event.address.key, lease.shard in self._parked
        without_session = {NOTICE: self._say, LOCKED: self._put_aside}.get(entry.event.kind)
        if without_session is not None:
            if not parked:
                self._tasks.start_soon(without_session, entry, lease)
            return
        living = self._conversations.get(key)
        if living is None and not parked:
            living = self._activate(lease, key, self._comebacks.take(key))
        if living is not None:
            living.conversation.backlog.put(entry)

    async def _say(self, entry: InboxEntry, lease: Lease) -> None:
        """Say a notice. A crash before it is put aside says it again, in the same page: a platform that recognises
        repetitions shows it once."""
        id_ = hashlib.sha256(f"{entry.event.address.key} {entry.event.id}".encode()).hexdigest()[:_PAGE_CHARS]
        choices = tuple(Choice(one["id"], one["label"]) for one in entry.event.attachments)
        spec = PageSpec(id_, entry.event.address, GATEWAY, choices=choices, alone=entry.event.asker)
        await show_once(self._around.outbox, spec, entry.event.text)
        with suppress(LeaseLost):  # then the next node says it
            await self._inbox.dismiss(entry, lease.token)

    async def _put_aside(self, entry: InboxEntry, lease: Lease) -> None:
        """Keep an event that cannot be opened, for its owner to replay, and say so."""
        event = entry.event
        self._around.bus.publish(ContentIsLocked(event.address.key, event.text))
        with suppress(LeaseLost):  # then the next node does
            await self._inbox.discard(entry, lease.token, reason=event.text)
            text = self._on(event.address.platform).texts("session.content_locked")
            await show_once(self._around.outbox, PageSpec(uuid.uuid4().hex, event.address, GATEWAY), text)

    def _activate(self, lease: Lease, key: str, wake: SessionRecord | None) -> _Living:
        conversation = ConversationTask(lease.shard, key, lambda: lease, self._on(platform_in(key)), self._inbox)
        living = self._conversations[key] = _Living(conversation, lease, anyio.CancelScope())
        self._tasks.start_soon(self._live, key, living, wake)
        return living

    def _on(self, platform: str) -> NodeContext:
        """The parts that the conversations of a platform share."""
        if platform not in self._around_on:
            self._around_on[platform] = self._around.on(platform)
        return self._around_on[platform]

    async def _live(self, key: str, living: _Living, wake: SessionRecord | None) -> None:
        try:
            with living.scope, suppress(LeaseLost):  # the next node finds in the inbox what was not done here
                ours = await living.conversation.run(wake)
                while ours and len(living.conversation.backlog):
                    ours = await living.conversation.run(None)
        finally:
            living.ended = True
            living.end.send()
            living.conversation.backlog.wanted.send()
        if self._conversations.get(key) is living:
            del self._conversations[key]


async def _park(living: _Living, within_s: float) -> None:
    await living.conversation.come_to_rest(within_s, WRITTEN_WITHIN_S)
    living.scope.cancel()
    if not living.ended:
        await living.end.wait()
