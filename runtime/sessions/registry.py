"""The conversations that are in memory: activated by events, kept while something goes on, then forgotten."""

from __future__ import annotations

import uuid
from contextlib import suppress

from anyio.abc import TaskGroup

from runtime.channels.outbox import PageSpec
from runtime.core.address import GATEWAY
from runtime.core.errors import AdapterError, LeaseLost
from runtime.sessions.conversation import UNRECORDED, Conversation
from runtime.sessions.inbox import NOTICE, Inbox, InboxEntry
from runtime.sessions.store import Lease, SessionRecord
from runtime.sessions.surroundings import Surroundings


class Registry:
    """Brings each event to its conversation. All conversations are tasks of one group."""

    def __init__(self, around: Surroundings, inbox: Inbox, tasks: TaskGroup) -> None:
        self._around = around
        self._inbox = inbox
        self._tasks = tasks
        self._leases: dict[int, Lease] = {}
        self._conversations: dict[str, Conversation] = {}

    def __len__(self) -> int:
        return len(self._conversations)

    async def gained(self, lease: Lease) -> None:
        """A shard is ours: go on with what was going on in it."""
        self._leases[lease.shard] = lease
        for session in await self._around.store.unfinished(lease.shard):
            record = await self._around.store.session(lease.shard, session)
            if record is not None and record.address.key not in self._conversations:
                self._activate(lease.shard, record.address.key, record)

    def lost(self, shard: int) -> None:
        """A shard is another node's now: its sessions end at their next commit, which is refused."""
        self._leases.pop(shard, None)

    def dispatch(self, entry: InboxEntry, lease: Lease) -> None:
        """Bring an event to its conversation."""
        self._leases[lease.shard] = lease
        if entry.event.kind == NOTICE:
            self._tasks.start_soon(self._say, entry, lease)
            return
        key = entry.event.address.key
        conversation = self._conversations.get(key)
        if conversation is None:
            conversation = self._activate(entry.shard, key, None)
        conversation.put(entry)

    async def _say(self, entry: InboxEntry, lease: Lease) -> None:
        """Say a notice. A crash before it is put aside says it again."""
        page = self._around.outbox.page(PageSpec(uuid.uuid4().hex, entry.event.address, GATEWAY), UNRECORDED)
        with suppress(AdapterError):  # nobody can be told there
            await page.finish(entry.event.text)
        with suppress(LeaseLost):  # then the next node says it
            await self._inbox.discard(entry, lease.token, reason="it was said")

    def _activate(self, shard: int, key: str, wake: SessionRecord | None) -> Conversation:
        token = self._leases[shard].token
        conversation = Conversation(
            shard, key, lambda: self._leases.get(shard, Lease(shard, token)), self._around, self._inbox
        )
        self._conversations[key] = conversation
        self._tasks.start_soon(self._live, key, conversation, wake)
        return conversation

    async def _live(self, key: str, conversation: Conversation, wake: SessionRecord | None) -> None:
        ours = await conversation.run(wake)
        while ours and conversation.waiting:
            ours = await conversation.run(None)
        del self._conversations[key]
