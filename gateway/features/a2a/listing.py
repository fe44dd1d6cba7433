"""A client's tasks, page by page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Self

from a2a.types import ListTasksRequest, ListTasksResponse, TaskState
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import InvalidParamsError
from a2a.utils.task import apply_history_length
from google.protobuf.timestamp_pb2 import Timestamp

from gateway.clients.requests import Client
from gateway.clients.tasks.service import ClientTask, TaskService
from gateway.features.a2a.card import exposed
from gateway.features.a2a.messages import Named, task_of
from runtime.core.address import CLIENT, session_of
from runtime.core.plain_text import whole_number
from runtime.stores.catalog import KnownSession, SessionCatalog, among_sessions

MAX_LOOKED_AT = 1_000
"""The sessions among which one answer looks for a client's tasks; the next answer goes on from there."""

_MOST = 2**31 - 1

Choose = Callable[[KnownSession], Awaitable[ClientTask | None]]


class TaskListing:
    """Finds the tasks that a client has ordered, among the sessions."""

    def __init__(self, tasks: TaskService, catalog: SessionCatalog) -> None:
        self._tasks = tasks
        self._catalog = catalog

    async def page(self, client: Client, wanted: ListTasksRequest) -> ListTasksResponse:
        """The tasks that fit, the most recently active first. Raises InvalidParamsError for a wrong page."""
        size = wanted.page_size if wanted.HasField("page_size") else DEFAULT_LIST_TASKS_PAGE_SIZE
        place = _Place.of(wanted.page_token)

        async def fitting(known: KnownSession) -> ClientTask | None:
            task = await self._own(client, known)
            return task if task is not None and _fits(task, wanted) else None

        found, rest = await self._among(place.mark, fitting)
        shown = found[place.skip : place.skip + size]
        response = ListTasksResponse(page_size=size, total_size=place.before + len(found))
        for task in shown:
            made = apply_history_length(task_of(task, Named.of(task)), wanted)
            if not wanted.include_artifacts:
                made.ClearField("artifacts")
            response.tasks.append(made)
        if place.skip + size < len(found):
            response.next_page_token = str(replace(place, skip=place.skip + size))
        elif rest:
            response.next_page_token = str(_Place(place.before + len(found), 0, rest))
        return response

    async def _among(self, mark: str, choose: Choose) -> tuple[list[ClientTask], str]:
        try:
            return await among_sessions(self._catalog, mark, MAX_LOOKED_AT, choose, MAX_LOOKED_AT)
        except ValueError as error:
            raise InvalidParamsError("There is no such page.") from error

    async def _own(self, client: Client, known: KnownSession) -> ClientTask | None:
        """The task of this client that a session is, if it is one."""
        task = session_of(known.record.address)
        if task is None or not client.scopes.may_use("read", known.record.program):
            return None
        found = await self._tasks.own(task)
        program, home = self._tasks.program(found), found.view.home
        own = home is not None and (home.platform, home.conversation) == (CLIENT, client.name)
        return found if own and program is not None and exposed(program) else None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a page goes on: behind a mark of the sessions, after so many of the tasks that are found there. `before` is
    the number of those in front of the mark."""

    before: int = 0
    skip: int = 0
    mark: str = ""

    def __str__(self) -> str:
        return f"{self.before}~{self.skip}~{self.mark}"

    @classmethod
    def of(cls, token: str) -> Self:
        """The place that a client names. Raises InvalidParamsError."""
        if not token:
            return cls()
        before, _, rest = token.partition("~")
        skip, split, mark = rest.partition("~")
        numbers = whole_number(before, _MOST), whole_number(skip, MAX_LOOKED_AT)
        if not split or numbers[0] is None or numbers[1] is None:
            raise InvalidParamsError("There is no such page.")
        return cls(numbers[0], numbers[1], mark)


def _fits(task: ClientTask, wanted: ListTasksRequest) -> bool:
    made = Named.of(task)
    if wanted.context_id and made.context != wanted.context_id:
        return False
    shown = task_of(task, made).status
    if wanted.status != TaskState.TASK_STATE_UNSPECIFIED and shown.state != wanted.status:
        return False
    if wanted.HasField("status_timestamp_after"):
        return _moment(shown.timestamp) >= _moment(wanted.status_timestamp_after)
    return True


def _moment(stamp: Timestamp) -> tuple[int, int]:
    return stamp.seconds, stamp.nanos
