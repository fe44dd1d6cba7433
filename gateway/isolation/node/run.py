"""One run of the process of a task: what it is handed, what it may call, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import anyio

from gateway.isolation.forms import ENTRIES, ENTRY, RECORD, CalledExtension
from gateway.isolation.handover import Handover, ProgramHandover
from gateway.isolation.launch.launcher import Launched, Launcher
from gateway.isolation.node.extension_calls import ExtensionCalls
from gateway.isolation.node.file_calls import FileCalls
from gateway.isolation.node.memory_calls import MemoryCalls
from gateway.isolation.node.own_stores import Own, OwnInbox, OwnStore, OwnTimers
from gateway.isolation.node.page_calls import PageCalls
from gateway.isolation.node.rights import Rights
from gateway.isolation.node.store_calls import StoreCalls
from gateway.isolation.node.tool_calls import ToolCalls
from gateway.isolation.peer import Link, Peer
from gateway.isolation.tokens import TaskTokens
from runtime.core.errors import StorageUnavailable, TaskRefused
from runtime.core.signals import Signal
from runtime.language.event_triggers import PLACE
from runtime.language.program import Program
from runtime.sessions.node_context import NodeContext
from runtime.stores.inbox import Inbox, InboxEntry
from runtime.stores.sessions import Lease, SessionRecord


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a run. `over`: it has said that nothing is left to do now; `code` is how its process has ended."""

    over: bool
    code: int


class TaskRun:
    """A process of a task, from its start to its end."""

    def __init__(
        self,
        rights: Rights,
        lease: Lease,
        around: NodeContext,
        inbox: Inbox,
        listens: Signal,
        record: SessionRecord | None,
    ) -> None:
        """`listens` is sent when the process takes events, `record` the session that it goes on with."""
        self._record = record
        self.rights = rights
        self.around = around
        own = Own(rights, lease)
        self.lease = lease
        self._listens = listens
        program = around.programs.get(rights.program)
        told = "" if program is None else str(program.metadata.get(PLACE, ""))
        self._pages = PageCalls(around.outbox, rights, around.task_places.get(told))
        alarm = around.alarm
        store, letters = OwnStore(around.store, own), OwnInbox(inbox, own)
        calls = StoreCalls(store, letters, None if alarm is None else OwnTimers(alarm, own))
        tools = ToolCalls(around, rights.program, rights.approvals, rights.order.place.platform)
        self._table = {
            **calls.table(),
            **tools.table(),
            **FileCalls(around.files, rights, around.intake, around.sight).table(),
            **ExtensionCalls(around.calls).table(),
            **MemoryCalls(around.memories, rights).table(),
            **self._pages.table(),
            **{call.__name__: call for call in (self.begin, self.over, self.allowance, self.spent)},
            **{call.__name__: call for call in (self.version, self.is_newer)},
        }
        self._to_give: list[InboxEntry] = []
        self._more = anyio.Event()
        self._peer: Peer | None = None
        self._begun = self._over = False
        self._rest: tuple[float, float] | None = None

    def give(self, entry: InboxEntry) -> None:
        """The process gets a further event."""
        self.rights.give(entry)
        self._to_give.append(entry)
        self._wake()

    def come_to_rest(self, within_s: float, written_within_s: float) -> None:
        """The process takes nothing new, and ends at the latest after these times."""
        self._rest = (within_s, written_within_s)
        self._wake()

    def _wake(self) -> None:
        self._more.set()
        self._more = anyio.Event()

    async def live(
        self,
        launcher: Launcher,
        handed: Callable[[str], Handover],
        tokens: TaskTokens[TaskRun],
        entries: Sequence[InboxEntry],
    ) -> Ended:
        """Start the process, and return when it has ended; when cancelled, it is killed first. Its token is void then.

        Raises OSError where it cannot be started.
        """
        for entry in entries:
            self.give(entry)
        token = tokens.issue(self.rights.session, self.lease.token, self)
        launched: Launched | None = None
        try:
            launched = await launcher.start(f"{self.rights.session}-{self.lease.token}", handed(token))
            code = await launched.ended()
            return Ended(self._over, code)
        finally:
            tokens.void(token)
            self._pages.let_go()
            if launched is not None:
                with anyio.CancelScope(shield=True):
                    await launched.kill()

    async def attend(self, link: Link) -> None:
        """Serve the process's connection, of which there is one. Raises TaskRefused for a second."""
        if self._peer is not None:
            raise TaskRefused("The task is connected already.")
        self._peer = self._pages.peer = Peer(link, self._table)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._tell, self._peer)
            await self._peer.run()
            tasks.cancel_scope.cancel()

    async def _tell(self, peer: Peer) -> None:
        """Bring the process its events, in order, from its `begin` on. What one that dies has not taken, the next one
        is given."""
        with suppress(StorageUnavailable):
            while True:
                more = self._more
                while self._begun and self._to_give:
                    await peer.call("entry", ENTRY.write(self._to_give.pop(0)))
                if self._begun and self._rest is not None:
                    rest, self._rest = self._rest, None
                    await peer.call("come_to_rest", list(rest))
                await more.wait()

    async def begin(self, _: Any) -> Any:
        """The process is ready; its session, if that has begun, and the events that wait for it."""
        entries, self._to_give = self._to_give, []
        self._begun = True
        self._listens.send()
        self._wake()
        return [RECORD.write(self._record), ENTRIES.write(entries)]

    async def over(self, _: Any) -> None:
        """Nothing is left to do now: the process ends."""
        self._over = True

    async def allowance(self, _: Any) -> str | None:
        """Why models may not be called for the task; None if they may."""
        return await self.around.allowance(self.rights.order.place, self.rights.person or None)

    async def over_budget(self) -> str | None:
        """Why the task may ask no model now, by its own limits or by those of whom it works for; None if it may."""
        order, texts = self.rights.order, self.around.texts
        if order.tokens or order.dollars:
            spent = await self.around.spent(order.root)
            if order.tokens and spent.tokens >= order.tokens:
                return texts("session.task_tokens", limit=f"{order.tokens:,}")
            if order.dollars and spent.dollars >= order.dollars:
                return texts("session.task_dollars", limit=f"{order.dollars:g}")
        return await self.allowance(None)

    async def version(self, digest: Any) -> str | None:
        """A version of the task's program, as its text; None for one that is not kept, or not its program's."""
        found = await self.around.versions.find(str(digest))
        return None if found is None or found.name != self.rights.program else found.pbasm

    async def is_newer(self, data: Any) -> bool:
        """Whether a version of the program was taken up after another."""
        digest, than = data
        return await self.around.versions.is_newer(str(digest), Program(self.rights.program, (), "", str(than)))

    async def spent(self, _: Any) -> Any:
        """What the task has spent on models, with all that came of its root."""
        spent = await self.around.spent(self.rights.order.root)
        return [spent.tokens, spent.dollars]


def program_of(around: NodeContext, rights: Rights) -> ProgramHandover:
    """The program of a task as its process gets it."""
    name = rights.program
    program = around.program(name)
    calls = tuple(CalledExtension.of(call) for call in around.calls.values())
    recalls = around.memories is not None and around.memories.on(name) and rights.order.scope != ""
    told = around.memories.limits.told if recalls and around.memories is not None else 0
    busy = around.busy.get(name, "queue")
    return ProgramHandover(
        name, program.pbasm, around.models.get(name, ""), busy, calls, told, around.intake is not None
    )
