"""The budget of a task for models, with all the tasks that come of it."""

from __future__ import annotations

from collections.abc import Callable

from runtime.core.address import Address
from runtime.sessions.node_context import NodeContext
from runtime.tape.journal import Journal
from runtime.tape.state.tasks import OrderState


class TaskBudget:
    """Permits the model's calls of one session, which may be a task."""

    def __init__(self, journal: Journal, around: NodeContext, end: Callable[[str], None]) -> None:
        """`end` ends the task, which has failed for a reason."""
        self._journal = journal
        self._around = around
        self._end = end

    async def may_ask(self, person: str | None, address: Address) -> str | None:
        """Why a session at `address` may not call a model for a person; None if it may. A task that has used its limit
        is ended; the limits of the conversation that it works for hold as well."""
        order = self._journal.state.order
        if order is None:
            return await self._around.allowance(address, person)
        over = await self._over(order)
        if over is not None:
            self._end(over)
            return over
        return await self._around.allowance(order.place, person)

    async def _over(self, order: OrderState) -> str | None:
        if not order.tokens and not order.dollars:
            return None
        spent = await self._around.spent(order.root)
        if order.tokens and spent.tokens >= order.tokens:
            return self._around.texts("session.task_tokens", limit=f"{order.tokens:,}")
        if order.dollars and spent.dollars >= order.dollars:
            return self._around.texts("session.task_dollars", limit=f"{order.dollars:g}")
        return None
