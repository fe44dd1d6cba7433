"""The count and the limits of use, in the sessions of a node."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from gateway.feature import FeatureGround, ServingGround
from gateway.features.usage.ledger import ledger_in
from runtime.core.address import Address
from runtime.sessions.features import InSessions, NodePart, SessionPart, SessionParts

Allowance = Callable[[Address, str | None], Awaitable[str | None]]
"""Why no model may be called, for a conversation and the person who caused it; None where one may."""


class SessionAllowance(SessionPart):
    """For a task, the limits of the conversation that it works for hold."""

    def __init__(self, parts: SessionParts, allowance: Allowance) -> None:
        super().__init__(parts)
        self._allowance = allowance

    async def may_ask(self, person: str | None, /) -> str | None:
        order = self._journal.state.order
        return await self._allowance(self._record.address if order is None else order.place, person)


def allowance_part(allowance: Allowance) -> NodePart:
    part = partial(SessionAllowance, allowance=allowance)
    return InSessions(part, part)


def open_node(ground: FeatureGround, serving: ServingGround) -> NodePart:
    """Counts from the start of the process."""
    if serving.answers is not None:
        serving.tasks.start_soon(ledger_in(ground.connection, ground.clock).follow, serving.answers)
    return allowance_part(serving.limits.allowance)
