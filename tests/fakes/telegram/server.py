"""A Bot API server on loopback, for the unmodified client library: `base_url=f"{address}/bot"`.

In a test's own loop: `async with serving(platform) as address`. In a process of its own, steered over HTTP:
`python -m tests.fakes.telegram.server --port 8081`, then `POST /_control/say {"text": "hi"}` and so on: each name of
CONTROLS is a method of TelegramPlatform, its JSON body the keyword arguments. `GET /_control/calls` lists the calls,
`GET /_control/messages?chat=42` what is visible there with every text it had.
"""

import argparse
import asyncio
import contextlib
import functools
import json
import re
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from email.utils import formatdate
from typing import Any
from urllib.parse import parse_qsl

import anyio
import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runtime.core.json_text import plain_data
from tests.fakes.telegram.content import Upload
from tests.fakes.telegram.limits import FloodLimits
from tests.fakes.telegram.platform import TOKEN, Bot, Fault, TelegramPlatform
from tests.fakes.telegram.refusal import Refusal, too_many_requests

CONTROLS = frozenset({"say", "rewrite", "press", "mark", "again", "block", "delete", "migrate", "fail"})
_NUMBERS = frozenset(
    {
        "chat_id",
        "message_id",
        "message_thread_id",
        "offset",
        "limit",
        "timeout",
        "draft_id",
        "receiver_user_id",
        "user_id",
    }
)
_JSON = frozenset(
    {"entities", "caption_entities", "allowed_updates", "commands", "link_preview_options", "scope"}
    | {"reply_markup", "reply_parameters", "reaction", "rich_message", "ephemeral_message_parameters"}
)


class BrokenAnswer(Response):
    """Promises a body, sends a piece of it and breaks the connection."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]})
        await send({"type": "http.response.body", "body": b'{"ok":', "more_body": True})


def application(platform: TelegramPlatform) -> Starlette:
    """The ASGI application of a platform."""

    async def bot_method(request: Request) -> Response:
        method = request.path_params["method"]
        try:
            params = await _params(request)
        except ValueError as error:
            return _refused(platform, method, {}, Refusal(400, f"Bad Request: {error}"))
        bot = platform.bot_of(request.path_params["token"])
        if bot is None:
            return _refused(platform, method, params, Refusal(401, "Unauthorized"))
        return await _unless_gone(request, lambda: _answered(platform, method, params, bot))

    return Starlette(
        routes=[
            Route("/file/bot{token}/files/{file_id}", functools.partial(_file, platform), methods=["GET"]),
            Route("/bot{token}/{method}", bot_method, methods=["GET", "POST"]),
            Route("/_control/calls", functools.partial(_calls, platform), methods=["GET"]),
            Route("/_control/messages", functools.partial(_messages, platform), methods=["GET"]),
            Route("/_control/{name}", functools.partial(_control, platform), methods=["POST"]),
        ]
    )


def _dated(application: Starlette, platform: TelegramPlatform) -> ASGIApp:
    """The application, with the platform's date in each answer; uvicorn's comes from a loop that is not run here."""

    async def dated(scope: Scope, receive: Receive, send: Send) -> None:
        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                date = formatdate(platform.chats.date, usegmt=True).encode()
                message = {**message, "headers": [*message["headers"], (b"date", date)]}
            await send(message)

        await application(scope, receive, told)

    return dated


@asynccontextmanager
async def serving(platform: TelegramPlatform, *, port: int = 0) -> AsyncIterator[str]:
    """Serve on loopback and yield the address, without a path; port 0 takes a free one."""
    # asyncio switches Nagle's delay off (40 ms an answer) only for sockets that say that they are TCP.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen()
    config = uvicorn.Config(
        _dated(application(platform), platform),
        date_header=False,
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
    )
    server = _Server(config, platform)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(functools.partial(server.serve, sockets=[listener]))
        async with httpx.AsyncClient(timeout=30) as http, anyio.create_task_group() as senders:
            for bot in platform.bots:
                senders.start_soon(bot.updates.deliver, http)
            try:
                yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            finally:
                platform.close()
                senders.cancel_scope.cancel()


class _Server(uvicorn.Server):
    """Ends when its platform closes; signals are the test runner's."""

    def __init__(self, config: uvicorn.Config, platform: TelegramPlatform) -> None:
        super().__init__(config)
        self._platform = platform

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await self._platform.closing.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Without the tenth of a second that uvicorn gives its clients."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await asyncio.gather(*self.server_state.tasks, return_exceptions=True)


async def _params(request: Request) -> dict[str, Any]:
    """The arguments of a call from the address and the body, whichever way the client sends them."""
    body = await request.body()
    given: dict[str, Any] = dict(request.query_params)
    content_type = request.headers.get("content-type", "").partition(";")[0]
    if content_type == "application/json":
        given |= json.loads(body)
    elif content_type == "application/x-www-form-urlencoded":
        given |= dict(parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body)))
    elif content_type == "multipart/form-data":
        given |= _parts(body, request.headers["content-type"].partition("boundary=")[2])
    elif body:
        raise ValueError(f"content type {content_type!r} is not read by this server")
    return {name: _value(name, value) for name, value in given.items()}


def _parts(body: bytes, boundary: str) -> dict[str, Any]:
    """The fields and the files of a multipart body."""
    found: dict[str, Any] = {}
    for piece in body.split(f"--{boundary}".encode())[1:-1]:
        head, _, data = piece.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        headers = head.decode()
        name = re.search(r'[; ]name="([^"]*)"', headers)
        filename = re.search(r'filename="([^"]*)"', headers)
        kind = re.search(r"(?i)content-type: *([^\r]*)", headers)
        if name is None:
            raise ValueError("a part has no name")
        content = data.removesuffix(b"\r\n")
        if filename is None:
            found[name[1]] = content.decode()
        else:
            found[name[1]] = Upload(filename[1], kind[1] if kind else "", content)
    return found


def _value(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if name in _NUMBERS:
        return int(value)
    return json.loads(value) if name in _JSON else value


async def _unless_gone(request: Request, work: Callable[[], Awaitable[Response]]) -> Response:
    """The answer, or nothing as soon as the client hangs up: a poll that nobody waits for must not take updates."""
    answer: Response = BrokenAnswer()
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        answer = await work()
        tasks.cancel_scope.cancel()
    return answer


async def _file(platform: TelegramPlatform, request: Request) -> Response:
    data = platform.files.get(request.path_params["file_id"])
    if data is None or platform.bot_of(request.path_params["token"]) is None:
        return PlainTextResponse("not found", 404)
    return Response(data, media_type="application/octet-stream")


async def _answered(platform: TelegramPlatform, method: str, params: Mapping[str, Any], bot: Bot) -> Response:
    platform.noticed()
    fault = platform.take_fault(method)
    try:
        if fault is not None and not fault.applied:
            return await _faulty(platform, method, params, fault)
        work = platform.answer(method, params, bot)
        result = await (_until_closing(platform, work) if method == "getUpdates" else work)
    except Refusal as refusal:
        return _refused(platform, method, params, refusal)
    if fault is not None:
        return await _faulty(platform, method, params, fault)
    platform.record(method, params, 200)
    return JSONResponse({"ok": True, "result": result})


async def _until_closing(platform: TelegramPlatform, work: Awaitable[Any]) -> Any:
    """A poll's result; no updates when the server is about to end."""
    result: Any = []
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            await platform.closing.wait()
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        try:
            result = await work
        except Refusal as refusal:
            result = refusal
        tasks.cancel_scope.cancel()
    if isinstance(result, Refusal):
        raise result
    return result


async def _faulty(platform: TelegramPlatform, method: str, params: Mapping[str, Any], fault: Fault) -> Response:
    match fault.kind:
        case "bad_gateway":
            platform.record(method, params, 502)
            return PlainTextResponse("<html>502 Bad Gateway</html>", 502)
        case "flood":
            raise too_many_requests(fault.retry_after)
        case "refuse":
            raise Refusal(fault.code, fault.description)
        case "garbage":
            platform.record(method, params, 200)
            return JSONResponse({"ok": True, "result": {"strange": [1]}})
        case "hang":
            platform.record(method, params, 0)
            await platform.closing.wait()
        case "drop":
            platform.record(method, params, 0)
    return BrokenAnswer()


def _refused(platform: TelegramPlatform, method: str, params: Mapping[str, Any], refusal: Refusal) -> Response:
    platform.record(method, params, refusal.code)
    return JSONResponse(refusal.body, refusal.code)


async def _control(platform: TelegramPlatform, request: Request) -> Response:
    name = request.path_params["name"]
    if name not in CONTROLS:
        return JSONResponse({"error": f"no control {name!r}; there are {sorted(CONTROLS)}"}, 404)
    return JSONResponse({"result": getattr(platform, name)(**await request.json())})


async def _calls(platform: TelegramPlatform, request: Request) -> Response:
    return Response(json.dumps([plain_data(call) for call in platform.calls], default=str))


async def _messages(platform: TelegramPlatform, request: Request) -> Response:
    posted = platform.messages(int(request.query_params["chat"]))
    return JSONResponse([plain_data(message) for message in posted])


async def _serve_alone(arguments: argparse.Namespace) -> None:
    platform = TelegramPlatform(token=arguments.token, limits=FloodLimits() if arguments.limits else None)
    async with serving(platform, port=arguments.port) as address:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


def main() -> None:
    """Serve until interrupted; the first line of the output is the address."""
    parser = argparse.ArgumentParser(description="A Bot API server on loopback, for tests.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token", default=TOKEN)
    parser.add_argument("--limits", action="store_true", help="enforce flood limits")
    with contextlib.suppress(KeyboardInterrupt):
        anyio.run(_serve_alone, parser.parse_args())


if __name__ == "__main__":
    main()
