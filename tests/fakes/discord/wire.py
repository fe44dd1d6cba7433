"""Discord on loopback, over HTTP and WebSocket, for the unmodified client library: `base_url=f"{address}/api/v10"`.

In a test's own loop: `async with serving(platform) as address`. Tests hold a `DiscordPlatform`, do in its `world` what
people do, and look at it. Calls have names: see OPERATIONS.
"""

import json
import re
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from email.utils import format_datetime
from typing import Any, Literal, cast

import anyio
from aiohttp import web
from msgspec import Struct
from simcord.backend.cdn import CDN_BASE
from simcord.backend.errors import BackendError

from runtime.core.clock import Clock, SystemClock
from tests.fakes.discord.bodies import wrong_in
from tests.fakes.discord.calls import Upload, handing_to
from tests.fakes.discord.gateway import DiscordGateway
from tests.fakes.discord.limits import DiscordLimits, Verdict
from tests.fakes.discord.world import DiscordWorld

TOKEN = "MTIz.TEST.token-of-the-fake-server"

OPERATIONS = tuple(
    (name, method, re.compile(path))
    for name, method, path in (
        ("gateway", "GET", r"/gateway"),
        ("sharding", "GET", r"/gateway/bot"),
        ("servers", "GET", r"/users/@me/guilds"),
        ("private", "POST", r"/users/@me/channels"),
        ("me", "GET", r"/users/@me"),
        ("application", "GET", r"/oauth2/applications/@me"),
        ("commands", "PUT", r"/applications/(\d+)/commands"),
        ("channel", "GET", r"/channels/(\d+)"),
        ("send", "POST", r"/channels/(\d+)/messages"),
        ("edit", "PATCH", r"/channels/(\d+)/messages/\d+"),
        ("history", "GET", r"/channels/(\d+)/messages"),
        ("typing", "POST", r"/channels/(\d+)/typing"),
        ("refresh_files", "POST", r"/attachments/refresh-urls"),
        ("delete", "DELETE", r"/channels/(\d+)/messages/\d+"),
        ("react", "PUT", r"/channels/(\d+)/messages/\d+/reactions/[^/]+/@me"),
        ("unreact", "DELETE", r"/channels/(\d+)/messages/\d+/reactions/[^/]+/@me"),
        ("open_thread", "POST", r"/channels/(\d+)(?:/messages/\d+)?/threads"),
        ("join", "PUT", r"/channels/(\d+)/thread-members/@me"),
        ("add", "PUT", r"/channels/(\d+)/thread-members/\d+"),
        ("hooks", "GET", r"/channels/(\d+)/webhooks"),
        ("make_hook", "POST", r"/channels/(\d+)/webhooks"),
        ("hook_send", "POST", r"/webhooks/(\d+)/[^/]+"),
        ("complete", "PATCH", r"/webhooks/(\d+)/[^/]+/messages/@original"),
        ("hook_edit", "PATCH", r"/webhooks/(\d+)/[^/]+/messages/\d+"),
        ("hook_delete", "DELETE", r"/webhooks/(\d+)/[^/]+/messages/\d+"),
        ("respond", "POST", r"/interactions/(\d+)/[^/]+/callback"),
    )
)

_WITHOUT_TOKEN = frozenset({"gateway", "hook_send", "hook_edit", "hook_delete", "complete", "respond"})
MAX_UPLOAD_BYTES = 10 * 1024 * 1024

FaultKind = Literal["bad_gateway", "banned", "drop", "flood", "garbage", "hang", "other_text", "refuse"]


class Fault(Struct):
    """A fault of the next `times` calls of an operation; `applied` says whether they take effect all the same.

    bad_gateway: HTTP 502 · banned: 429 by the guard before Discord, which says `retry_after_s` in a header only ·
    drop: the connection breaks within the answer · hang: no answer until the client gives up · flood: 429 with
    `retry_after_s` · garbage: a result of the wrong shape · other_text: a message that shows another
    text · refuse: HTTP `status` with `code`.
    """

    operation: str
    kind: FaultKind
    times: int = 1
    applied: bool = False
    retry_after_s: float = 3.0
    whole_bot: bool = False
    status: int = 400
    code: int = 0


class Call(Struct):
    """A call; status 0 where it has, or got, no answer. `at_s` is the clock's monotonic time."""

    operation: str
    path: str
    body: Any
    at_s: float
    authorized: bool
    status: int = 0
    files: tuple[str, ...] = ()


class DiscordPlatform:
    """One bot's Discord. `limits` None means that nothing is refused for being too often."""

    def __init__(self, *, limits: DiscordLimits | None = None, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self.limits = limits
        self.calls: list[Call] = []
        self.world = DiscordWorld(self.clock)
        self.gateway = DiscordGateway(self.world, TOKEN, self.noticed, self.clock)
        self.closing = anyio.Event()
        self._faults: list[Fault] = []
        self._changed = anyio.Event()

    def fail(self, operation: str, kind: FaultKind, **more: Any) -> None:
        """Order a fault; the further fields of Fault are the keys."""
        self._faults.append(Fault(operation, kind, **more))

    @property
    def in_trouble(self) -> bool:
        """Whether a fault waits for its call."""
        return bool(self._faults)

    def calls_of(self, operation: str) -> list[Call]:
        return [call for call in self.calls if call.operation == operation]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return once it holds; it is looked at again after every call and every frame of the gateway."""
        while not condition():
            await self._changed.wait()

    def noticed(self) -> None:
        """Something happened: whoever waits in `until` looks again."""
        self._changed.set()
        self._changed = anyio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One HTTP call."""
        path = "/" + request.match_info["path"]
        operation, major = _operation(request.method, path)
        body, files = await _body(request)
        authorized = request.headers.get("Authorization") == f"Bot {TOKEN}"
        call = Call(operation, path, body, self.clock.monotonic(), authorized)
        self.calls.append(call)
        self.noticed()
        call.files = tuple(file.name for file in files)
        response = await self._response(call, major, request, files)
        call.status = 0 if isinstance(response, _Broken) else response.status
        self.noticed()
        return response

    async def _response(
        self, call: Call, major: str, request: web.Request, files: Sequence[Upload]
    ) -> web.StreamResponse:
        if not call.authorized and call.operation not in _WITHOUT_TOKEN:
            return _json({"message": "401: Unauthorized", "code": 0}, 401, {})
        verdict = self._verdict(call.operation, major)
        if verdict.retry_after_s is not None:
            return _flood(verdict.retry_after_s, verdict.headers, whole_bot=verdict.whole_bot)
        fault = self._take_fault(call.operation)
        if fault is not None and fault.kind == "other_text":
            call.body["content"] = "something else"
            return self._result(call, request, verdict.headers, files)
        if fault is not None and not fault.applied:
            return await self._faulty(fault, verdict.headers)
        response = self._result(call, request, verdict.headers, files)
        return response if fault is None else await self._faulty(fault, verdict.headers)

    def _verdict(self, operation: str, major: str) -> Verdict:
        if self.limits is None:
            return Verdict({})
        hook = self.world.backend.webhooks.get(int(major)) if operation == "hook_send" else None
        channel = str(hook.channel_id) if hook is not None else None
        return self.limits.ask(operation, major, channel, self.clock.monotonic())

    async def file(self, request: web.Request) -> web.StreamResponse:
        """A file that somebody sent, at the address that messages tell."""
        if self.world.files_moved_to is not None:
            return web.Response(status=302, headers={"Location": self.world.files_moved_to})
        data = self.world.backend.cdn.get(f"{CDN_BASE}/{request.match_info['path']}")
        if request.query.get("ex") != self.world.files_valid:
            data = None
        return web.Response(status=404) if data is None else web.Response(body=data)

    def _result(
        self, call: Call, request: web.Request, headers: Mapping[str, str], files: Sequence[Upload]
    ) -> web.StreamResponse:
        if call.operation in ("gateway", "sharding"):
            return _json(self.gateway.told(), 200, headers)
        if any(len(file.data) > MAX_UPLOAD_BYTES for file in files):
            return _json({"message": "Request entity too large", "code": 40005}, 413, headers)
        if (wrong := wrong_in(call.operation, call.body)) is not None:
            return _json({"message": f"Invalid Form Body: {wrong}", "code": 50035}, 400, headers)
        hand = handing_to(self.world.backend, request.method, call.path, files)
        try:
            result = self.world.answer(call.operation, hand, call.body, request.query, call.path)
        except BackendError as error:
            return _json(error.to_json(), error.status, headers)
        if result is None:
            return web.Response(status=204, headers=headers)
        copied = json.loads(json.dumps(result))
        return _json(self.world.as_told(call.operation, copied), 200, headers)

    def _take_fault(self, operation: str) -> Fault | None:
        found = next((fault for fault in self._faults if fault.operation == operation), None)
        if found is not None:
            found.times -= 1
            if not found.times:
                self._faults.remove(found)
        return found

    async def _faulty(self, fault: Fault, headers: Mapping[str, str]) -> web.StreamResponse:
        match fault.kind:
            case "bad_gateway":
                return web.Response(status=502, text="<html>502 Bad Gateway</html>", content_type="text/html")
            case "banned":
                headers = {"Retry-After": f"{fault.retry_after_s:g}", "Content-Type": "text/html"}
                return web.Response(status=429, body=b"<html>error 1015</html>", headers=headers)
            case "flood":
                return _flood(fault.retry_after_s, headers, whole_bot=fault.whole_bot)
            case "refuse":
                return _json({"message": "refused by the test", "code": fault.code}, fault.status, headers)
            case "garbage":
                return _json({"strange": [1]}, 200, headers)
            case "hang":
                await self.closing.wait()
            case "drop":
                pass
        return _Broken()


class _Broken(web.StreamResponse):
    """Promises a body, sends a piece of it and breaks the connection."""

    async def prepare(self, request: web.BaseRequest) -> Any:
        self.content_length = 1000
        writer = await super().prepare(request)
        await self.write(b'{"id":')
        if request.transport is not None:
            request.transport.abort()
        return writer

    async def write_eof(self, data: bytes = b"") -> None:
        """There is no end."""


@asynccontextmanager
async def serving(platform: DiscordPlatform) -> AsyncIterator[str]:
    """Serve on a free port of loopback and yield the address, without a path."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    platform.gateway.address = f"ws://{address}"
    application = web.Application(client_max_size=4 * MAX_UPLOAD_BYTES)
    application.router.add_get("/", platform.gateway.serve)
    application.router.add_get("/resume", platform.gateway.serve)
    application.router.add_get("/files/{path:.*}", platform.file)
    platform.world.files_at = f"http://{address}"
    application.router.add_route("*", "/api/v10/{path:.*}", platform.answer)

    async def dated(_request: web.Request, response: web.StreamResponse) -> None:
        response.headers["Date"] = format_datetime(platform.clock.now(), usegmt=True)

    application.on_response_prepare.append(dated)
    runner = web.AppRunner(application, handle_signals=False, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.SockSite(runner, listener).start()
    try:
        yield f"http://{address}"
    finally:
        platform.closing.set()
        await platform.gateway.drop()
        await runner.cleanup()


async def _body(request: web.Request) -> tuple[Any, list[Upload]]:
    """The JSON of a call, and its files."""
    if not request.content_type.startswith("multipart/"):
        text = await request.text()
        return (json.loads(text) if text else None), []
    form = await request.post()
    files = [Upload(part.filename, part.file.read()) for part in form.values() if isinstance(part, web.FileField)]
    return json.loads(cast("str | bytearray", form["payload_json"])), files


def _operation(method: str, path: str) -> tuple[str, str]:
    """The call's name, and what it is about."""
    for name, known, pattern in OPERATIONS:
        found = pattern.fullmatch(path) if known == method else None
        if found is not None:
            return name, "".join(found.groups())
    return f"{method} {path}", ""


def _json(data: Any, status: int, headers: Mapping[str, str]) -> web.Response:
    """discord.py reads JSON only where the content type says so and nothing more, as Discord's does."""
    return web.Response(
        body=json.dumps(data).encode(), status=status, headers={**headers, "Content-Type": "application/json"}
    )


def _flood(retry_after_s: float, headers: Mapping[str, str], *, whole_bot: bool) -> web.Response:
    told = {"message": "You are being rate limited.", "retry_after": round(retry_after_s, 3), "global": whole_bot}
    scope = "global" if whole_bot else "user"
    extra = {"Retry-After": str(int(retry_after_s) + 1), "X-RateLimit-Scope": scope, "Via": "1.1 fake"}
    return _json(told, 429, {**headers, **extra})
