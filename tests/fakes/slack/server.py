"""Slack's Web API and Socket Mode on loopback, for the unmodified client libraries: `base_url=f"{address}/api/"`.

In a test's own loop: `async with serving(platform) as address`. In a process of its own, steered over HTTP:
`python -m tests.fakes.slack.server --port 8083`, then `POST /_control/say {"text": "hi"}` and so on: each name of
CONTROLS is a method of SlackPlatform, its JSON body the keyword arguments. `GET /_control/calls` lists the calls,
`GET /_control/messages?channel=C0GENERAL` the app's messages there with every text they had.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from email.utils import format_datetime
from typing import Any

import anyio
from aiohttp import WSMsgType, web

from runtime.core.json_text import plain_data
from tests.fakes.slack.events import Connection
from tests.fakes.slack.platform import Fault, SlackPlatform
from tests.fakes.slack.refusal import Refusal

CONTROLS = frozenset({"say", "mention", "rewrite", "remove", "command", "react", "drop", "fail"})
_JSON = frozenset({"blocks", "metadata", "chunks", "attachments", "loading_messages", "files", "prompts", "view"})
_FLAGS = frozenset({"link_names", "unfurl_links", "unfurl_media", "include_all_metadata", "inclusive"})


class SlackServer:
    """The HTTP side of a platform."""

    def __init__(self, platform: SlackPlatform) -> None:
        self.platform = platform

    def application(self) -> web.Application:
        application = web.Application()
        application.add_routes(
            [
                web.post("/api/{method}", self._method),
                web.get("/api/{method}", self._method),
                web.get("/socket", self._socket),
                web.post("/upload/{file}", self._upload),
                web.get("/files/{file}", self._download),
                web.get("/_control/calls", self._calls),
                web.get("/_control/messages", self._messages),
                web.post("/_control/{name}", self._control),
            ]
        )
        application.on_response_prepare.append(self._dated)
        return application

    async def _dated(self, _request: web.Request, response: web.StreamResponse) -> None:
        response.headers["Date"] = format_datetime(self.platform.clock.now(), usegmt=True)

    async def _method(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        params = await _params(request)
        fault = self.platform.take_fault(method)
        if fault is not None and not fault.applied:
            return await self._faulty(request, method, params, fault)
        try:
            token = request.headers.get("Authorization", "").removeprefix("Bearer ") or params.pop("token", "")
            result = self.platform.answer(method, token, params)
        except Refusal as refusal:
            return self._refused(method, params, refusal)
        if fault is not None:
            return await self._faulty(request, method, params, fault)
        self.platform.record(method, params, 200)
        headers = {"X-OAuth-Scopes": ",".join(sorted(self.platform.scopes))}
        return web.json_response({"ok": True} | result, headers=headers)

    def _refused(self, method: str, params: Mapping[str, Any], refusal: Refusal) -> web.Response:
        self.platform.record(method, params, refusal.status)
        return web.json_response(refusal.body, status=refusal.status, headers=refusal.headers)

    async def _faulty(
        self, request: web.Request, method: str, params: Mapping[str, Any], fault: Fault
    ) -> web.StreamResponse:
        match fault.kind:
            case "bad_gateway":
                self.platform.record(method, params, 502)
                return web.Response(text="<html>502 Bad Gateway</html>", content_type="text/html", status=502)
            case "flood":
                return self._refused(method, params, self.platform.flood(fault))
            case "refuse":
                return self._refused(method, params, Refusal(fault.error, more=fault.more))
            case "garbage":
                self.platform.record(method, params, 200)
                return web.json_response({"ok": True, "strange": [1]})
            case "hang" | "drop":
                self.platform.record(method, params, 0)
        if fault.kind == "hang":
            await self.platform.closing.wait()
        return await _broken(request)

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(timeout=1.0)
        await socket.prepare(request)
        transport = request.transport

        async def send(frame: Mapping[str, Any]) -> None:
            with contextlib.suppress(ConnectionError):
                await socket.send_str(json.dumps(frame))

        connection = Connection(send, lambda: transport.abort() if transport is not None else None)
        await send({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A0001"}, "debug_info": {}})
        try:
            self.platform.events.admit(request.query.get("ticket", ""), connection)
        except Refusal as refusal:
            await send({"type": "disconnect", "reason": refusal.error})
            await socket.close()
            return socket
        try:
            async for message in socket:
                if message.type == WSMsgType.TEXT:
                    answer = json.loads(message.data)
                    self.platform.events.acknowledge(answer["envelope_id"], answer.get("payload"))
        finally:
            self.platform.events.left(connection)
        return socket

    async def _upload(self, request: web.Request) -> web.Response:
        taken = self.platform.files.upload(request.match_info["file"], await request.read())
        return web.Response(text="OK" if taken else "no", status=200 if taken else 400)

    async def _download(self, request: web.Request) -> web.Response:
        """Who has no right to a file is sent to a page where people log in."""
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        file = self.platform.files.files.get(request.match_info["file"])
        if file is None or token not in self.platform.tokens or "files:read" not in self.platform.scopes:
            return web.Response(status=302, headers={"Location": "/login"})
        return web.Response(body=file.content)

    async def _control(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in CONTROLS:
            return web.json_response({"error": f"no control {name!r}; there are {sorted(CONTROLS)}"}, status=404)
        return web.json_response({"result": getattr(self.platform, name)(**await request.json())})

    async def _calls(self, _request: web.Request) -> web.Response:
        return web.json_response([plain_data(call) for call in self.platform.calls])

    async def _messages(self, request: web.Request) -> web.Response:
        return web.json_response([plain_data(m) for m in self.platform.messages(request.query["channel"])])


@asynccontextmanager
async def serving(platform: SlackPlatform, *, port: int = 0) -> AsyncIterator[str]:
    """Serve on loopback and yield the address, without a path; port 0 takes a free one."""
    runner = web.AppRunner(SlackServer(platform).application(), access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(platform.events.run)
        try:
            site = web.TCPSite(runner, "127.0.0.1", port)
            await site.start()
            bound = runner.addresses[0][1]
            platform.socket_address = f"ws://127.0.0.1:{bound}/socket"
            platform.files.address = f"http://127.0.0.1:{bound}"
            yield f"http://127.0.0.1:{bound}"
        finally:
            platform.close()
            with anyio.CancelScope(shield=True):
                await runner.cleanup()
            tasks.cancel_scope.cancel()


async def _params(request: web.Request) -> dict[str, Any]:
    """The arguments of a call from the address and the body, whichever way the client sends them."""
    given: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        given |= await request.json()
    elif request.can_read_body:
        given |= dict(await request.post())
    return {name: _value(name, value) for name, value in given.items()}


def _value(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if name in _FLAGS:
        return value.casefold() in ("1", "true")
    return json.loads(value) if name in _JSON else value


async def _broken(request: web.Request) -> web.StreamResponse:
    """Promises a body, sends a piece of it and breaks the connection."""
    answer = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
    await answer.prepare(request)
    await answer.write(b'{"ok":')
    if request.transport is not None:
        request.transport.abort()
    return answer


async def _serve_alone(arguments: argparse.Namespace) -> None:
    async with serving(SlackPlatform(limited=arguments.limits), port=arguments.port) as address:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


def main() -> None:
    """Serve until interrupted; the first line of the output is the address."""
    parser = argparse.ArgumentParser(description="Slack on loopback, for tests.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--limits", action="store_true", help="enforce rate limits")
    with contextlib.suppress(KeyboardInterrupt):
        anyio.run(_serve_alone, parser.parse_args())


if __name__ == "__main__":
    main()
