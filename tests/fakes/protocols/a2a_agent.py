"""An agent of A2A for tests, by JSON-RPC: it answers as the test says, and keeps what it was asked."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from gateway.web.server import serve
from tests.fakes.protocols.a2a_schema import validate_call

ONCE = "urn:parley:once-by-message-id"

Answer = Callable[[dict[str, Any]], "Response | Awaitable[Response]"]


class Agent:
    """What it has been asked: `asked` are the requests, by their methods and parameters. `answers` are taken in turn,
    the last one for good."""

    def __init__(self, *answers: Answer, streaming: bool = False, once: bool = False) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.authorizations: set[str] = set()
        self.answers = list(answers)
        self.streaming = streaming
        self.once = once
        self.card: Callable[[str], Any] = self.good_card

    @property
    def message_ids(self) -> list[str]:
        """The ids of the messages that it was sent."""
        return [params["message"]["messageId"] for _, params in self.asked if "message" in params]

    def good_card(self, url: str) -> dict[str, Any]:
        """A card with one skill."""
        capabilities: dict[str, Any] = {"streaming": self.streaming}
        if self.once:
            capabilities["extensions"] = [{"uri": ONCE}]
        return {
            "name": "Scout",
            "description": "Knows the paths.",
            "version": "1",
            "supportedInterfaces": [{"url": f"{url}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "capabilities": capabilities,
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "find-path", "name": "Find", "description": "Finds a path.", "tags": ["paths"]}],
        }

    def app(self) -> Starlette:
        """Its routes."""
        return Starlette(
            routes=[Route("/.well-known/agent-card.json", self._card), Route("/rpc", self._rpc, methods=["POST"])]
        )

    async def _card(self, request: Request) -> Response:
        card = self.card(str(request.base_url).rstrip("/"))
        return card if isinstance(card, Response) else JSONResponse(card)

    async def _rpc(self, request: Request) -> Response:
        body = await request.json()
        validate_call(body)
        self.authorizations.add(request.headers.get("authorization", ""))
        self.asked.append((body["method"], body["params"]))
        answer = (self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])(body)
        return answer if isinstance(answer, Response) else await answer


@asynccontextmanager
async def serving(agent: Agent) -> AsyncIterator[str]:
    """The agent behind a URL."""
    async with anyio.create_task_group() as tasks:
        port = await tasks.start(serve, agent.app(), "127.0.0.1", 0)
        yield f"http://127.0.0.1:{port}"
        tasks.cancel_scope.cancel()


def task(
    state: str, *, said: str = "", id_: str = "t1", artifacts: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """A task of the agent."""
    status: dict[str, Any] = {"state": f"TASK_STATE_{state}"}
    if said:
        status["message"] = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": said}]}
    return {"id": id_, "contextId": "c", "status": status, "artifacts": artifacts or []}


def data_artifact(value: Any) -> list[dict[str, Any]]:
    """A result that is data."""
    return [{"artifactId": "result", "parts": [{"data": value}]}]


def result(value: Any) -> Answer:
    """Answers with this result."""
    return lambda body: JSONResponse({"jsonrpc": "2.0", "id": body["id"], "result": value})


def raw(content: Any) -> Answer:
    """Answers with this JSON, whatever it is."""
    return lambda _: JSONResponse(content)


def stream(*values: Any, then: Callable[[], Awaitable[None]] | None = None) -> Answer:
    """Answers with a stream of results, which ends when `then` returns; it breaks where that raises."""

    def answer(body: dict[str, Any]) -> Response:
        async def lines() -> AsyncIterator[str]:
            for value in values:
                yield f"data: {json.dumps({'jsonrpc': '2.0', 'id': body['id'], 'result': value})}\n\n"
            if then is not None:
                await then()

        return StreamingResponse(lines(), media_type="text/event-stream")

    return answer


class Hangs(Response):
    """Never answers."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await anyio.sleep_forever()


class Breaks(Response):
    """Ends the connection in the middle of an answer."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]})
        await send({"type": "http.response.body", "body": b"{", "more_body": False})
