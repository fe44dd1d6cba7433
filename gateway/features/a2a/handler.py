"""Requests of the protocol as tasks of ours. The SDK reads them and writes the answers, for each binding.

A client's tasks, page by page.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any, Self

from a2a import types
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.request_handler import RequestHandler, validate_request_params
from a2a.utils import errors
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.task import apply_history_length, validate_history_length, validate_page_size
from google.protobuf.timestamp_pb2 import Timestamp
from msgspec import Struct
from msgspec.structs import replace
from starlette.exceptions import HTTPException

from gateway.clients.requests import BusClient
from gateway.clients.tasks.service import ClientTask, TaskService
from gateway.features.a2a import messages
from gateway.features.a2a.push import Pushes
from runtime.core.address import CLIENT, session_of
from runtime.core.ids import SessionId
from runtime.core.plain_text import whole_number
from runtime.stores.catalog import KnownSession, SessionCatalog, among_sessions

CALLER = "client"
"""In the state of a call: the client that asks."""

_SETTLE_S = 10.0
"""The time within which an order is taken, an answer heard, and an end come."""

_GRACE_S = 30.0

_ERRORS: Mapping[int, type[errors.A2AError]] = {
    404: errors.TaskNotFoundError,
    410: errors.TaskNotFoundError,
    409: errors.UnsupportedOperationError,
    503: errors.InternalError,
}

MAX_LOOKED_AT = 1_000
"""The sessions among which one answer looks for a client's tasks; the next answer goes on from there."""

_MOST = 2**31 - 1

Choose = Callable[[KnownSession], Awaitable[ClientTask | None]]


class _Sent(Struct, frozen=True):
    """A message that was taken: what it went to, the question that it answered, the names of the task."""

    task: ClientTask
    answered: str | None
    named: messages.Named


class TaskRequests(RequestHandler):
    """The requests of clients. Tasks of programs that are no skills are not there."""

    def __init__(self, tasks: TaskService, listing: TaskListing, pushes: Pushes) -> None:
        self._tasks = tasks
        self._listing = listing
        self._pushes = pushes

    @validate_request_params
    async def on_message_send(self, params: types.SendMessageRequest, context: ServerCallContext) -> types.Task:
        """Take a message, and give the task once it is over or asks; at once if the client wants that."""
        with _translated():
            validate_history_length(params.configuration)
            sent = await self._send(params, context)
            task = sent.task
            if not params.configuration.return_immediately:
                within_s = self._tasks.door.limits.within_s
                task = await self._tasks.wait(task, within_s + _GRACE_S, answered=sent.answered)
            return apply_history_length(messages.task_of(task, sent.named), params.configuration)

    @validate_request_params
    async def on_message_send_stream(
        self, params: types.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[messages.Update]:
        """The same as a stream: the task, and what is new of it, until it is over or asks."""
        with _translated():
            validate_history_length(params.configuration)
            sent = await self._send(params, context)
            async for update in self._stream(sent, params.configuration):
                yield update

    @validate_request_params
    async def on_subscribe_to_task(
        self, params: types.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[messages.Update]:
        """A task with everything up to now, and what is new of it."""
        with _translated():
            task = await self._found(context, params.id)
            if task.over:
                raise errors.UnsupportedOperationError("The task has ended.")
            answered = None if task.question is None else task.question.ask
            async for update in self._stream(_Sent(task, answered, messages.Named.of(task))):
                yield update

    @validate_request_params
    async def on_get_task(self, params: types.GetTaskRequest, context: ServerCallContext) -> types.Task:
        with _translated():
            validate_history_length(params)
            task = await self._found(context, params.id)
            return apply_history_length(messages.task_of(task, messages.Named.of(task)), params)

    @validate_request_params
    async def on_list_tasks(
        self, params: types.ListTasksRequest, context: ServerCallContext
    ) -> types.ListTasksResponse:
        """The client's own tasks, the most recently active first."""
        validate_history_length(params)
        if params.HasField("page_size"):
            validate_page_size(params.page_size)
        return await self._listing.page(_client(context), params)

    @validate_request_params
    async def on_cancel_task(self, params: types.CancelTaskRequest, context: ServerCallContext) -> types.Task:
        with _translated():
            task = await self._found(context, params.id, "write")
            if task.over:
                raise errors.TaskNotCancelableError
            await self._tasks.cancel(task)
            answered = None if task.question is None else task.question.ask
            task = await self._tasks.wait(task, _SETTLE_S, answered=answered)
            return messages.task_of(task, messages.Named.of(task))

    @validate_request_params
    async def on_create_task_push_notification_config(
        self, params: types.TaskPushNotificationConfig, context: ServerCallContext
    ) -> types.TaskPushNotificationConfig:
        """Have what is new of a task sent to a URL."""
        with _translated():
            self._pushes.check(params)
            task = await self._found(context, params.task_id)
            return await self._pushes.keep(_client(context), task, params)

    @validate_request_params
    async def on_get_task_push_notification_config(
        self, params: types.GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> types.TaskPushNotificationConfig:
        with _translated():
            task = await self._found(context, params.task_id)
            for config in await self._pushes.of(_client(context), task):
                if config.id == params.id:
                    return config
            raise errors.TaskNotFoundError("The task has no such notification.")

    @validate_request_params
    async def on_list_task_push_notification_configs(
        self, params: types.ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> types.ListTaskPushNotificationConfigsResponse:
        with _translated():
            task = await self._found(context, params.task_id)
            return types.ListTaskPushNotificationConfigsResponse(configs=await self._pushes.of(_client(context), task))

    @validate_request_params
    async def on_delete_task_push_notification_config(
        self, params: types.DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        with _translated():
            task = await self._found(context, params.task_id)
            await self._pushes.forget(_client(context), task, params.id)

    async def on_get_extended_agent_card(
        self, params: types.GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> types.AgentCard:
        """There is one card for all."""
        raise errors.UnsupportedOperationError("There is one card for all.")

    async def _send(self, params: types.SendMessageRequest, context: ServerCallContext) -> _Sent:
        client, message = _client(context), params.message
        if params.configuration.HasField("task_push_notification_config"):
            self._pushes.check(params.configuration.task_push_notification_config)
        sent = await (self._answer if message.task_id else self._order)(client, params)
        if params.configuration.HasField("task_push_notification_config"):
            await self._pushes.keep(client, sent.task, params.configuration.task_push_notification_config)
        return sent

    async def _order(self, client: BusClient, params: types.SendMessageRequest) -> _Sent:
        """Order a task. The message's id names the order: the same one again is the same task."""
        message = params.message
        key = {"key": f"a2a {message.message_id}"}
        order = messages.order_of(message, self._skills(client), key)
        id_, _ = await self._tasks.order(client, order, context=message.context_id or None)
        task = await self._tasks.own(id_)
        return _Sent(task, None, messages.Named.of(task, message.context_id or None))

    async def _answer(self, client: BusClient, params: types.SendMessageRequest) -> _Sent:
        message = params.message
        task = await self._tasks.find(client, SessionId(message.task_id), "write")
        task = await self._tasks.begun(task, _SETTLE_S)
        named = messages.Named.of(task)
        if message.context_id and message.context_id != named.context:
            raise errors.InvalidParamsError("The task belongs to another context.")
        question = task.question
        if await self._tasks.speak(client, task, message.message_id, messages.text_of(message)):
            task = await self._tasks.heard(task, _SETTLE_S)
        return _Sent(task, None if question is None else question.ask, named)

    async def _stream(
        self, sent: _Sent, limits: types.SendMessageConfiguration | None = None
    ) -> AsyncIterator[messages.Update]:
        task, told, growing = sent.task, messages.Mark.of(sent.task), messages.GrowingTexts(sent.task)
        yield apply_history_length(messages.task_of(task, sent.named), limits)
        if _rests(task, sent.answered):
            return
        async with aclosing(self._tasks.changes(task)) as changes:
            async for now in changes:
                for piece in growing.updates(now, sent.named.context):
                    yield piece
                for update in messages.updates_of(now, sent.named, told):
                    yield update
                told = messages.Mark.of(now)
                if _rests(now, sent.answered):
                    return

    async def _found(self, context: ServerCallContext, id_: str, action: str = "read") -> ClientTask:
        if context.tenant:
            raise errors.InvalidParamsError("There are no tenants here.")
        task = await self._tasks.find(_client(context), SessionId(id_), action)
        task = await self._tasks.begun(task, _SETTLE_S)
        program = self._tasks.program(task)
        if program is not None and not messages.exposed(program):
            raise errors.TaskNotFoundError
        return task

    def _skills(self, client: BusClient) -> Mapping[str, messages.Skill]:
        programs = {program.name: program for program, _, _ in self._tasks.orderable(client)}
        return messages.skills_of(programs.values())


def _rests(task: ClientTask, answered: str | None) -> bool:
    """Whether nothing comes of a task without the client."""
    return task.over or task.asks_more_than(answered)


def _client(context: ServerCallContext) -> BusClient:
    client: Any = context.state[CALLER]
    assert isinstance(client, BusClient)
    return client


@contextmanager
def _translated() -> Iterator[None]:
    """What a client may not do, in the protocol's errors."""
    try:
        yield
    except HTTPException as error:
        raise _ERRORS.get(error.status_code, errors.InvalidParamsError)(error.detail) from error


class TaskListing(Struct, frozen=True):
    """Finds the tasks that a client has ordered, among the sessions."""

    _tasks: TaskService
    _catalog: SessionCatalog

    async def page(self, client: BusClient, wanted: types.ListTasksRequest) -> types.ListTasksResponse:
        """The tasks that fit, the most recently active first. Raises InvalidParamsError for a wrong page."""
        size = wanted.page_size if wanted.HasField("page_size") else DEFAULT_LIST_TASKS_PAGE_SIZE
        place = _Place.of(wanted.page_token)

        async def fitting(known: KnownSession) -> ClientTask | None:
            task = await self._own(client, known)
            return task if task is not None and _fits(task, wanted) else None

        found, rest = await self._among(place.mark, fitting)
        shown = found[place.skip : place.skip + size]
        response = types.ListTasksResponse(page_size=size, total_size=place.before + len(found))
        for task in shown:
            made = apply_history_length(messages.task_of(task, messages.Named.of(task)), wanted)
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
            raise errors.InvalidParamsError("There is no such page.") from error

    async def _own(self, client: BusClient, known: KnownSession) -> ClientTask | None:
        """The task of this client that a session is, if it is one."""
        task = session_of(known.record.address)
        if task is None or not client.scopes.may_use("read", known.record.program):
            return None
        found = await self._tasks.own(task)
        program, home = self._tasks.program(found), found.view.home
        own = home is not None and (home.platform, home.conversation) == (CLIENT, client.name)
        return found if own and program is not None and messages.exposed(program) else None


class _Place(Struct, frozen=True):
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
            raise errors.InvalidParamsError("There is no such page.")
        return cls(numbers[0], numbers[1], mark)


def _fits(task: ClientTask, wanted: types.ListTasksRequest) -> bool:
    made = messages.Named.of(task)
    if wanted.context_id and made.context != wanted.context_id:
        return False
    shown = messages.task_of(task, made).status
    if wanted.status != types.TaskState.TASK_STATE_UNSPECIFIED and shown.state != wanted.status:
        return False
    if wanted.HasField("status_timestamp_after"):
        return _moment(shown.timestamp) >= _moment(wanted.status_timestamp_after)
    return True


def _moment(stamp: Timestamp) -> tuple[int, int]:
    return stamp.seconds, stamp.nanos
