"""A client's tasks, page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator

from a2a.types import ListTasksRequest, ListTasksResponse, TaskState
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import InvalidParamsError
from a2a.utils.task import apply_history_length
from google.protobuf.timestamp_pb2 import Timestamp

from gateway.clients.a2a.card import exposed
from gateway.clients.a2a.messages import Named, task_of
from gateway.clients.admission import Client
from gateway.clients.tasks.service import ClientTask, TaskService
from runtime.core.address import CLIENT
from runtime.core.plain_text import whole_number
from runtime.sessions.tasks.letters import session_of
from runtime.stores.catalog import SessionCatalog

MAX_LOOKED_AT = 1_000
"""The most recently active sessions among which a client's tasks are looked for."""

_AT_ONCE = 100


class TaskListing:
    """Finds the tasks that a client has ordered, among the sessions."""

    def __init__(self, tasks: TaskService, catalog: SessionCatalog) -> None:
        self._tasks = tasks
        self._catalog = catalog

    async def page(self, client: Client, wanted: ListTasksRequest) -> ListTasksResponse:
        """The tasks that fit, the most recently active first. Raises InvalidParamsError for a wrong page."""
        size = wanted.page_size if wanted.HasField("page_size") else DEFAULT_LIST_TASKS_PAGE_SIZE
        skip = _skipped(wanted.page_token)
        found = [task async for task in self._own(client) if _fits(task, wanted)]
        shown = found[skip : skip + size]
        response = ListTasksResponse(page_size=size, total_size=len(found))
        for task in shown:
            made = apply_history_length(task_of(task, Named.of(task)), wanted)
            if not wanted.include_artifacts:
                made.ClearField("artifacts")
            response.tasks.append(made)
        if skip + size < len(found):
            response.next_page_token = str(skip + size)
        return response

    async def _own(self, client: Client) -> AsyncIterator[ClientTask]:
        mark, looked_at = "", 0
        while looked_at < MAX_LOOKED_AT:
            page = await self._catalog.page(mark, limit=_AT_ONCE)
            for known in page.sessions:
                task = session_of(known.record.address)
                if task is None or not client.scopes.may_use("read", known.record.program):
                    continue
                found = await self._tasks.own(task)
                program, home = self._tasks.program(found), found.view.home
                own = home is not None and (home.platform, home.conversation) == (CLIENT, client.name)
                if own and program is not None and exposed(program):
                    yield found
            looked_at += len(page.sessions)
            if not page.next:
                return
            mark = page.next


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


def _skipped(token: str) -> int:
    if not token:
        return 0
    skipped = whole_number(token, MAX_LOOKED_AT)
    if skipped is None:
        raise InvalidParamsError("There is no such page.")
    return skipped
