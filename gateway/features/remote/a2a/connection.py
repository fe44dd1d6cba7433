"""One agent behind an agent card, as a connection to a server of tools."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx
from a2a import types
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError, A2AClientTimeoutError
from a2a.utils.constants import TransportProtocol
from a2a.utils.errors import A2AError, UnsupportedOperationError
from mcp_types import CallToolResult, Tool

from gateway.features.remote.a2a.skills import ASKS, ENDS, merged, message_of, result_of, tools_of
from gateway.features.remote.connection import AnswerLost, ConnectionWiring
from gateway.features.remote.transports import ATTEMPT, RequestAttempt, bounded, noting, refusal, secret_header
from runtime.core.clock import Clock
from runtime.core.errors import ParleyError, RemoteFault, RemoteUnavailable
from runtime.core.plain_text import one_line
from runtime.language.remote import RemoteSpec

MAX_ANSWER_BYTES = 2 * 1024 * 1024
"""The most bytes of one answer, also of one stream of events; the rest is not read."""

BINDINGS = [TransportProtocol.JSONRPC.value, TransportProtocol.HTTP_JSON.value]

MAX_LOOKS = 200
"""So often a task is asked for, or followed again, in one call."""

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 10.0

_SDK = logging.getLogger("a2a")
"""The SDK's logger, silenced: failures also arrive as errors, and it would log strangers' texts."""


class TooLong(httpx.HTTPError):
    def __init__(self) -> None:
        super().__init__(f"its answer has more than {MAX_ANSWER_BYTES:,} bytes")


def http_client(header: str, secret: str | None, connect_s: float) -> httpx.AsyncClient:
    """A client that records on the attempt what happened to it, follows no redirects and uses no proxies. The caller
    limits the time."""
    headers = {"accept-encoding": "identity", **secret_header(header, secret)}
    timeout = httpx.Timeout(connect_s, read=None)
    return httpx.AsyncClient(headers=headers, timeout=timeout, transport=_Noting(), trust_env=False)


class _Noting(httpx.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with noting(httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as attempt:
            response = await super().handle_async_request(request)
        attempt.status = response.status_code
        response.headers.pop("content-encoding", None)  # nothing unpacks to more than was read
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Bounded(response.stream)
        return response


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner

    def __aiter__(self) -> AsyncIterator[bytes]:
        return bounded(self._inner, MAX_ANSWER_BYTES, TooLong())

    async def aclose(self) -> None:
        await self._inner.aclose()


_SDK.addHandler(logging.NullHandler())
_SDK.propagate = False


class AgentConnection:
    """An agent whose card was read. `closed` is set when the card has to be read again; it never says that its skills
    are others (`changed`)."""

    def __init__(self, card: types.AgentCard, client: Client, wiring: ConnectionWiring, clock: Clock) -> None:
        self.closed = anyio.Event()
        self.changed = anyio.Event()
        self._card = card
        self._client = client
        self._wiring = wiring
        self._clock = clock

    async def tools(self) -> list[Tool]:
        return tools_of(self._card)

    async def call(self, tool: str, arguments: Mapping[str, Any], key: str) -> CallToolResult | AnswerLost:
        """Have the agent do something once. Raises RemoteFault when it refuses or its answer cannot be read."""
        attempt = RequestAttempt()
        token = ATTEMPT.set(attempt)
        try:
            return result_of(await self._done(message_of(tool, arguments, key)))
        except ParleyError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a stranger's agent makes the SDK raise is that agent's trouble
            return self._outcome(error, attempt)
        finally:
            ATTEMPT.reset(token)

    def _outcome(self, error: Exception, attempt: RequestAttempt) -> AnswerLost:
        cause, why = error.__cause__, one_line(str(error) or type(error).__name__, 300)
        if isinstance(error, TooLong) or isinstance(cause, TooLong):
            raise RemoteFault(str(cause if isinstance(cause, TooLong) else error)) from error
        if isinstance(cause, httpx.HTTPStatusError) and cause.response.status_code < 500:
            raise RemoteFault(refusal("agent", cause.response.status_code, why)) from error
        on_the_way = isinstance(error, A2AClientTimeoutError | httpx.HTTPError) or isinstance(cause, httpx.HTTPError)
        if on_the_way:
            self.closed.set()
            return AnswerLost(attempt.sent, why)
        if isinstance(error, A2AError) and not isinstance(error, A2AClientError):
            raise RemoteFault(why) from error
        raise RemoteFault(f"its answer cannot be read: {why}") from error

    async def _done(self, message: types.Message) -> types.Task | types.Message:
        """Send a message, and see what comes of it to its end, over as many streams as it takes."""
        task: types.Task | None = None
        try:
            async for response in self._client.send_message(types.SendMessageRequest(message=message)):
                came = self._taken(task, response)
                if isinstance(came, types.Message) or _rests(came):
                    return came
                task = came
        except (A2AClientError, httpx.HTTPError) as error:
            if task is None or _is_too_long(error):
                raise
        if task is None:
            raise A2AClientError("it says nothing")
        return await self._followed(task)

    async def _followed(self, task: types.Task) -> types.Task | types.Message:
        """A task that was begun, at its end: what is known of it is not lost with a connection."""
        pause_s = _FIRST_PAUSE_S
        for _ in range(MAX_LOOKS):
            try:
                task = await self._client.get_task(types.GetTaskRequest(id=task.id))
                if _rests(task):
                    return task
                if self._card.capabilities.streaming:
                    async for response in self._client.subscribe(types.SubscribeToTaskRequest(id=task.id)):
                        came = self._taken(task, response)
                        if isinstance(came, types.Message) or _rests(came):
                            return came
                        task = came
            except UnsupportedOperationError:
                pass  # it has ended meanwhile, or cannot be followed
            except (A2AClientError, httpx.HTTPError) as error:
                if _is_too_long(error):
                    raise
            await self._clock.sleep_until(self._clock.monotonic() + pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        raise RemoteFault(f"its task {one_line(task.id, 100)} does not come to an end")

    def _taken(self, task: types.Task | None, response: types.StreamResponse) -> types.Task | types.Message:
        """The task with what is new of it. Raises A2AClientError for what belongs to no task, or to another."""
        match response.WhichOneof("payload"):
            case "task" if response.task.id:
                return response.task
            case "message":
                return response.message
            case "status_update":
                update = response.status_update
                if task is None:
                    task = types.Task(id=update.task_id, context_id=update.context_id)
                if update.task_id and update.task_id == task.id:
                    task.status.CopyFrom(update.status)
                    self._progressed(task)
                    return task
            case "artifact_update":
                if task is not None and response.artifact_update.task_id == task.id:
                    merged(task, response.artifact_update.artifact, append=response.artifact_update.append)
                    return task
        raise RemoteFault("it tells of no task, or of one that nobody asked for")

    def _progressed(self, task: types.Task) -> None:
        said = " ".join(part.text for part in task.status.message.parts if part.text)
        if said:
            self._wiring.progressed(one_line(said, 200))


@asynccontextmanager
async def open_agent(spec: RemoteSpec, wiring: ConnectionWiring, clock: Clock) -> AsyncIterator[AgentConnection]:
    """A connection to the agent whose card is below the URL. Raises RemoteUnavailable when there is none within
    `connect_s`, or one that sends us elsewhere."""
    secret = wiring.variables.get(spec.secret) if spec.secret else None
    attempt = RequestAttempt()
    token = ATTEMPT.set(attempt)
    async with http_client(spec.header, secret, wiring.connect_s) as http:
        try:
            with anyio.fail_after(wiring.connect_s):
                card = await A2ACardResolver(http, spec.url).get_agent_card()
            _check_place(card, spec.url)
            client = ClientFactory(ClientConfig(httpx_client=http, supported_protocol_bindings=BINDINGS)).create(card)
        except ParleyError:
            raise
        except TimeoutError as error:
            raise RemoteUnavailable(f"no answer in {wiring.connect_s:g} s") from error
        except Exception as error:  # a stranger's card makes the SDK raise whatever it likes
            why = one_line(str(error) or type(error).__name__, 300)
            raise RemoteUnavailable(refusal("agent", attempt.status, why)) from error
        finally:
            ATTEMPT.reset(token)
        yield AgentConnection(card, client, wiring, clock)


def _check_place(card: types.AgentCard, url: str) -> None:
    """Raise RemoteUnavailable for a card that would have our requests, and our secret, sent to another place."""
    usable = [each for each in card.supported_interfaces if each.protocol_binding in BINDINGS]
    if not usable:
        raise RemoteUnavailable("its card names no interface by JSON-RPC or HTTP+JSON")
    for interface in usable:
        if _origin(interface.url) != _origin(url):
            raise RemoteUnavailable(f"its card sends us to another place: {one_line(interface.url, 200)}")


def _origin(url: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return "", None, None


def _rests(task: types.Task) -> bool:
    return task.status.state in ENDS or task.status.state in ASKS


def _is_too_long(error: Exception) -> bool:
    return isinstance(error, TooLong) or isinstance(error.__cause__, TooLong)
