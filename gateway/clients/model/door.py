"""`/model/v1`: clients ask the models of the settings, as they would ask the OpenAI API."""

from __future__ import annotations

import math
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from gateway.clients.admission import Admission, Client
from gateway.clients.model.budget import Budgets
from gateway.clients.model.wire import Asked, error_data, event, piece, read_asked, whole_answer
from gateway.clients.requests import MAX_BODY_BYTES, STREAM_HEADERS, body_of
from runtime.bus import Bus
from runtime.core.clock import Clock
from runtime.core.errors import ContextTooLong, LLMError, LLMRateLimited, LLMRefused, LLMTimeout
from runtime.events.service import ModelServed
from runtime.llm.client import Completion, LLMClient, Usage

PREFIX = "/model/v1"
"""Where the application is mounted."""

AT_ONCE = 8
"""The number of answers that a client gets at once."""

_CHARS_PER_TOKEN = 3.0
"""By which is counted what an answer took that broke off before anybody said it."""

_COUNT_LIMIT_S = 5.0

_TASK_BODY_BYTES = 32 * 1024 * 1024
"""The length of a task's request, which has the pictures that its program is given."""

_NO_STORE = {"cache-control": "no-store"}
_STATUS: Mapping[type[LLMError], int] = {LLMRateLimited: 429, LLMTimeout: 504, LLMRefused: 502, ContextTooLong: 400}


class TaskAccounts(Protocol):
    """Isolated tasks, which ask models in the same way, within the limits of what they work for."""

    def client(self, request: HTTPConnection, /) -> Client | None:
        """The task that asks, as a client; None for somebody else."""
        ...

    async def spent(self, task: Client, /) -> str | None:
        """The reason why a task may ask nothing more; None while it may."""
        ...

    def answered(self, task: Client, model: str, seconds: float, usage: Usage, /) -> None:
        """A model has answered a task."""
        ...


@dataclass(frozen=True, slots=True)
class ModelDoor:
    """The parts that the routes use: who asks, the models by their names in the settings, and what clients may use."""

    admission: Admission
    models: Mapping[str, LLMClient]
    budgets: Budgets
    bus: Bus
    clock: Clock
    tasks: TaskAccounts | None = None
    """None: no task asks from a process of its own."""

    def app(self) -> Starlette:
        """The application, to be mounted at `PREFIX`."""
        routes = _Routes(self)
        return Starlette(
            routes=[
                Route("/chat/completions", routes.complete, methods=["POST"]),
                Route("/models", routes.list, methods=["GET"]),
            ],
            exception_handlers={HTTPException: _refused},
        )


class _Routes:
    def __init__(self, door: ModelDoor) -> None:
        self._door = door
        self._open: Counter[str] = Counter()

    async def list(self, request: Request) -> Response:
        """The models that the client may ask."""
        client = self._client(request)[0]
        names = [name for name in self._door.models if client.scopes.may_ask(name)]
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "parley"} for name in names]
        return JSONResponse({"object": "list", "data": data}, headers=_NO_STORE)

    async def complete(self, request: Request) -> Response:
        """An answer of a model, whole or streamed."""
        door = self._door
        client, tasks = self._client(request)
        of_task = tasks is not None
        asked = read_asked(await body_of(request, _TASK_BODY_BYTES if of_task else MAX_BODY_BYTES), pictures=of_task)
        model = door.models.get(asked.model) if client.scopes.may_ask(asked.model) else None
        if model is None:
            raise HTTPException(404, f"There is no model {asked.model[:100]} for you; GET {PREFIX}/models lists them.")
        spent = await (door.budgets.spent(client.name) if tasks is None else tasks.spent(client))
        if spent is not None:
            raise HTTPException(429, spent)
        if self._open[client.name] >= AT_ONCE:
            raise HTTPException(429, f"A client gets at most {AT_ONCE} answers at once.")
        answer = _Answer(door, client, asked, model, tasks)
        return _Answering(answer, self._counted(client.name))

    def _client(self, request: Request) -> tuple[Client, TaskAccounts | None]:
        """Who asks, and where a task does, the accounts of tasks."""
        tasks = self._door.tasks
        task = None if tasks is None else tasks.client(request)
        return (self._door.admission.client(request), None) if task is None else (task, tasks)

    @contextmanager
    def _counted(self, name: str) -> Iterator[None]:
        self._open[name] += 1
        try:
            yield
        finally:
            self._open[name] -= 1


class _Answer:
    """One answer on its way to a client."""

    def __init__(
        self, door: ModelDoor, client: Client, asked: Asked, model: LLMClient, tasks: TaskAccounts | None
    ) -> None:
        self._tasks = tasks
        self.asked = asked
        self._door = door
        self._client = client
        self._model = model
        self._id = f"chatcmpl-{uuid.uuid4().hex}"
        self._created_s = int(door.clock.now().timestamp())

    async def whole(self) -> Mapping[str, Any]:
        """The answer at its end. Raises LLMError."""
        async with self._completion() as completion:
            text = "".join([text async for text in completion])
        return whole_answer(self._id, self._created_s, self.asked.model, text, completion.usage)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The answer as server-sent events, as it comes. Raises LLMError."""
        head = (self._id, self._created_s, self.asked.model)
        async with self._completion() as completion:
            yield piece(*head, {"role": "assistant", "content": ""})
            async for text in completion:
                yield piece(*head, {"content": text})
        yield piece(*head, {})
        if self.asked.counted:
            yield piece(*head, None, usage=completion.usage)
        yield b"data: [DONE]\n\n"

    @asynccontextmanager
    async def _completion(self) -> AsyncIterator[_Measured]:
        """The model's answer, which is counted however it ends."""
        began_s = self._door.clock.monotonic()
        async with self._model.stream(self.asked.request) as completion:
            measured = _Measured(completion)
            try:
                yield measured
            finally:
                with anyio.move_on_after(_COUNT_LIMIT_S, shield=True):
                    await self._count(measured, self._door.clock.monotonic() - began_s)

    async def _count(self, measured: _Measured, seconds: float) -> None:
        usage = measured.usage
        if measured.text_chars and not (usage.input_tokens or usage.output_tokens):  # it broke off before they came
            asked_chars = sum(len(message.content) for message in self.asked.request.messages)
            usage = replace(usage, input_tokens=_tokens(asked_chars), output_tokens=_tokens(measured.text_chars))
        if self._tasks is not None:
            self._tasks.answered(self._client, usage.model or self._model.model, seconds, usage)
            return
        self._door.bus.publish(
            ModelServed(
                self._client.name,
                self._model.model,
                seconds,
                usage.input_tokens,
                usage.output_tokens,
                usage.cost_usd,
            )
        )
        await self._door.budgets.spend(self._client.name, usage)


class _Measured:
    """An answer, with the characters of it that have come."""

    def __init__(self, completion: Completion) -> None:
        self._completion = completion
        self.text_chars = 0

    @property
    def usage(self) -> Usage:
        return self._completion.usage

    async def __aiter__(self) -> AsyncIterator[str]:
        async for text in self._completion:
            self.text_chars += len(text)
            yield text


class _Answering(Response):
    """Sends an answer. When the client has gone, the model is not asked further."""

    def __init__(self, answer: _Answer, counted: Any) -> None:
        super().__init__()
        self._answer = answer
        self._counted = counted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._counted:
            if not self._answer.asked.streamed:
                await self._send_whole(scope, receive, send)
                return
            async with aclosing(self._answer.pieces()) as pieces:  # type: ignore[type-var]
                await _while_connected(receive, _streamed(pieces, scope, receive, send))

    async def _send_whole(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def answer() -> None:
            try:
                response = JSONResponse(await self._answer.whole(), headers=_NO_STORE)
            except LLMError as error:
                response = _failed(error)
            await response(scope, receive, send)

        await _while_connected(receive, answer())


async def _streamed(pieces: AsyncIterator[bytes], scope: Scope, receive: Receive, send: Send) -> None:
    """Send the pieces. A failure before the first words is an answer with its status; one after them is an event."""
    begun = False
    waiting: list[bytes] = []
    try:
        async for one in pieces:
            waiting.append(one)
            if len(waiting) < 2 and not begun:  # the first says nothing yet
                continue
            if not begun:
                begun = True
                await send(_head())
            await send({"type": "http.response.body", "body": b"".join(waiting), "more_body": True})
            waiting.clear()
    except LLMError as error:
        if not begun:
            await _failed(error)(scope, receive, send)
            return
        failure = event(error_data(str(error), _STATUS.get(type(error), 503)))
        await send({"type": "http.response.body", "body": failure, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _head() -> Message:
    headers = {"content-type": "text/event-stream; charset=utf-8", **STREAM_HEADERS}
    return {
        "type": "http.response.start",
        "status": 200,
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }


async def _while_connected(receive: Receive, work: Any) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_disconnected, receive, tasks.cancel_scope)
        await work
        tasks.cancel_scope.cancel()


async def _disconnected(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _failed(error: LLMError) -> JSONResponse:
    status = _STATUS.get(type(error), 503)
    headers = dict(_NO_STORE)
    if isinstance(error, LLMRateLimited) and error.retry_after_s is not None:
        headers["retry-after"] = str(math.ceil(error.retry_after_s))
    return JSONResponse(error_data(str(error), status), status, headers=headers)


async def _refused(_request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    headers = {**_NO_STORE, **(error.headers or {})}
    return JSONResponse(error_data(str(error.detail), error.status_code), error.status_code, headers=headers)


def _tokens(chars: int) -> int:
    return math.ceil(chars / _CHARS_PER_TOKEN)
