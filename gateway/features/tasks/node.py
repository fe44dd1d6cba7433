"""Tasks in a process that serves conversations."""

from __future__ import annotations

from collections.abc import Callable

from gateway.clients.scopes import PROGRAM, Scopes, refusals_of, scopes_from
from gateway.feature import FeatureGround, ServingGround
from gateway.features.tasks.orders import told_late
from gateway.features.tasks.session import SessionTasks
from gateway.features.tasks.words import word_late
from gateway.settings.clients import client_scopes, publisher_scopes
from runtime.core.address import SCRATCH
from runtime.core.texts import Texts
from runtime.sessions.features import NodePart, SessionParts
from runtime.stores.inbox import TASK_OVER, TASK_WORD, InboxEvent
from runtime.stores.orders import Spent, SpentOf, TaskLimits


async def nobody_counts(_task: str, /) -> Spent:
    """Tasks cost nothing."""
    return Spent()


def no_objection(_event: InboxEvent, /) -> str:
    """Whatever was ordered may begin."""
    return ""


class NodeTasks(NodePart):
    """The tasks of the sessions of a process; without `limits` none is ordered, as in scratch rooms."""

    def __init__(
        self,
        limits: TaskLimits | None,
        spent: SpentOf = nobody_counts,
        objection: Callable[[InboxEvent], str] = no_objection,
    ) -> None:
        self._limits = limits
        self._spent = spent
        self.objection = objection  # type: ignore[method-assign]

    @property
    def alone(self) -> NodeTasks:
        return self

    def session(self, parts: SessionParts, /) -> SessionTasks:
        limits = None if parts.record.address.platform == SCRATCH else self._limits
        return SessionTasks(parts, limits, self._spent)

    async def answer(self, event: InboxEvent, texts: Texts, /) -> tuple[str, str] | None:
        """What people are told whose task has ended, or says something, when the session has gone that ordered it."""
        late = {TASK_OVER: told_late, TASK_WORD: word_late}.get(event.kind)
        told = None if late is None else late(event, texts)
        return None if told is None else (told, "")


def open_node(ground: FeatureGround, serving: ServingGround) -> NodeTasks:
    """The tasks of this node. Clients, programs that publish events and features order them, within their scopes."""
    own, limits = ground.settings, serving.limits
    scopes = client_scopes(own.clients)
    scopes |= {f"{PROGRAM}{name}": found for name, found in publisher_scopes(own.publishers).items()}

    def scopes_of(name: str) -> Scopes | None:
        of_feature = any(name in part.programs for part in serving.parts)
        return scopes_from([f"tasks:write:{name}"]) if of_feature else scopes.get(name)

    return NodeTasks(own.tasks.limits, limits.spent, refusals_of(scopes_of, console=own.has_console))
