"""All that one session has to do with tasks, made and connected."""

from __future__ import annotations

from typing import Self

from anyio.abc import TaskGroup

from runtime.agents.supervisor import Supervisor
from runtime.core.address import Address
from runtime.execution.calls.builtins import Builtins
from runtime.execution.calls.tasks import TaskCalls
from runtime.language.program import Program
from runtime.sessions.node_context import NodeContext
from runtime.sessions.tasks.orders import TaskOrders
from runtime.sessions.tasks.work import TaskWork
from runtime.stores.inbox import Inbox
from runtime.stores.sessions import SessionRecord
from runtime.tape.facts.content import Content
from runtime.tape.journal import Journal


class SessionTasks:
    """The calls of one session, what it has ordered, and what it was ordered to do."""

    def __init__(
        self,
        record: SessionRecord,
        program: Program,
        journal: Journal,
        supervisor: Supervisor,
        builtins: Builtins,
        around: NodeContext,
    ) -> None:
        self._record = record
        self._journal = journal
        self._supervisor = supervisor
        self._builtins = builtins
        self._around = around
        self.calls = TaskCalls(program, journal, builtins, around.clock, around.tasks)

    def connected(self, inbox: Inbox) -> Self:
        """Give the inboxes of all conversations, before anything happens."""
        around = self._around
        self.orders = TaskOrders(self._record, self._journal, around, inbox, self._supervisor.remind)
        self.work = TaskWork(self._record, self._journal, self._supervisor, around, inbox, self._end)
        return self

    @property
    def payer(self) -> Address:
        """The conversation whose limits count: that of the people for whom a task works."""
        order = self._journal.state.order
        return self._record.address if order is None else order.place

    async def _end(self) -> None:
        await self._builtins.end(wanted=True)

    def noted(self, fact: Content) -> None:
        """Hears every fact."""
        self.calls.noted(fact)
        self.orders.noted(fact)
        self.work.noted(fact)

    def start(self, tasks: TaskGroup, broken: str | None) -> None:
        """Bring orders to their tasks, and keep the time of this one. `broken` says why the program cannot go on."""
        self.orders.start(tasks)
        self.work.start(tasks, broken)

    async def settle(self) -> None:
        """Return when a session that ends owes nothing to its tasks and its orderer."""
        await self.orders.all_posted()
        await self.work.give_back()
