"""A server on loopback that speaks OpenAI's chat completions, with replies from a script.

In a test: `async with OpenAIServer([Reply("text"), …]) as server:` and `server.base_url`. For other processes:
`python -m tests.fakes.models.openai_server --port 0 --script replies.json`, where the file holds a list of texts or of
objects with the fields of `Reply`; the first line printed is the base URL. Those processes steer it over HTTP:
`POST /control/release`, `POST /control/replies` (a list as in the file) and `GET /control/requests`.

Wire format: https://platform.openai.com/docs/api-reference/chat-streaming (SSE lines `data: {…}`, usage in a last chunk
with empty `choices` when `stream_options.include_usage` is set, then `data: [DONE]`).
"""

import argparse
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from msgspec import Struct, field

_MAX_HEAD_BYTES = 64 * 1024
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


class Reply(Struct, frozen=True):
    """One scripted answer.

    `when` makes it answer only requests that contain this text; `repeat` keeps it in the script after use.
    `hold_before` waits for `release` before the status line, `hold_after_chars` after so much text.
    `drop_after_chars` cuts the connection there. `page` is sent as a web page in place of an answer. `usage` is input,
    output and cached tokens.
    """

    text: str = ""
    when: str | None = None
    repeat: bool = False
    chunk_chars: int = 8
    chunk_delay_s: float = 0.0
    hold_before: bool = False
    hold_after_chars: int | None = None
    drop_after_chars: int | None = None
    status: int = 200
    retry_after_s: float | None = None
    error: Mapping[str, Any] = field(default_factory=dict)
    finish_reason: str = "stop"
    page: str = ""
    usage: tuple[int, int, int] = (100, 20, 80)


Script = Sequence[Reply] | Callable[[Mapping[str, Any]], Reply]


class OpenAIServer:
    """The server, running while the context is entered. `requests` are the bodies of the completions asked for."""

    def __init__(self, script: Script = (), *, port: int = 0) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.disconnects = 0
        self.held = 0
        self.port = port
        self._answer = script if callable(script) else None
        self._replies: list[Reply] = [] if callable(script) else list(script)
        self._released = 0
        self._changed = anyio.Event()
        self._stack = AsyncExitStack()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> Self:
        await self._stack.__aenter__()
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=self.port)
        self.port = listener.extra(SocketAttribute.local_port)
        self._stack.push_async_callback(listener.aclose)
        tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._stack.callback(tasks.cancel_scope.cancel)
        tasks.start_soon(listener.serve, self._serve)
        return self

    async def __aexit__(self, *exception: Any) -> None:
        await self._stack.__aexit__(*exception)

    def add(self, *replies: Reply) -> None:
        """Put replies at the end of the script."""
        self._replies.extend(replies)

    def forget(self) -> None:
        """Begin again, as for another test: no script, nothing asked, nobody held."""
        self.requests.clear()
        self.headers.clear()
        self._replies.clear()
        self.disconnects = self.held = self._released = 0

    def release(self) -> None:
        """Let the reply that was held first go on; releases given in advance count."""
        self._released += 1
        self._note()

    async def until(self, happened: Callable[[], bool]) -> None:
        """Return when `happened()` is true; it is asked after everything that the server notes."""
        while not happened():
            await self._changed.wait()

    def _note(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def _serve(self, stream: SocketStream) -> None:
        async with stream:
            try:
                method, path, headers, body = await _read_request(stream)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._watch, stream, tasks.cancel_scope)
                    await self._respond(stream, method, path, headers, body)
                    tasks.cancel_scope.cancel()
            except* (anyio.BrokenResourceError, anyio.EndOfStream, anyio.IncompleteRead):
                self._disconnected()

    async def _watch(self, stream: SocketStream, scope: anyio.CancelScope) -> None:
        """Clients send nothing after their request: whatever ends the reading is their leaving."""
        try:
            await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            self._disconnected()
            scope.cancel()

    def _disconnected(self) -> None:
        self.disconnects += 1
        self._note()

    async def _respond(
        self, stream: SocketStream, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> None:
        if (method, path) == ("POST", "/v1/chat/completions"):
            request = json.loads(body)
            self.requests.append(request)
            self.headers.append(headers)
            self._note()
            await self._complete(stream, request)
        elif (method, path) == ("GET", "/v1/models"):
            await _send_json(stream, 200, {"object": "list", "data": [{"id": "test", "object": "model"}]})
        elif (method, path) == ("GET", "/control/requests"):
            await _send_json(stream, 200, self.requests)
        elif (method, path) == ("POST", "/control/release"):
            self.release()
            await _send_json(stream, 200, {})
        elif (method, path) == ("POST", "/control/replies"):
            self.add(*read_script(body.decode()))
            await _send_json(stream, 200, {})
        else:
            await _send_json(stream, 404, {"error": {"message": f"no such path: {method} {path}"}})

    def _next_reply(self, request: Mapping[str, Any]) -> Reply:
        if self._answer is not None:
            return self._answer(request)
        asked = json.dumps(request.get("messages"), ensure_ascii=False)
        for reply in self._replies:
            if reply.when is None or reply.when in asked:
                if not reply.repeat:
                    self._replies.remove(reply)
                return reply
        return Reply(status=400, error={"message": "the script has no reply left for this request"})

    async def _complete(self, stream: SocketStream, request: Mapping[str, Any]) -> None:
        reply = self._next_reply(request)
        if reply.hold_before:
            await self._hold()
        if reply.status != 200:
            error = {"message": f"scripted {reply.status}", "type": "scripted", "code": None, **reply.error}
            await _send_json(stream, reply.status, {"error": error}, reply.retry_after_s)
        elif reply.page:
            page = reply.page.encode()
            head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"
            await stream.send(f"{head}Content-Length: {len(page)}\r\n\r\n".encode() + page)
        elif not request.get("stream"):
            message = {"role": "assistant", "content": reply.text}
            choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason}
            await _send_json(stream, 200, _envelope(request, "chat.completion", [choice]) | {"usage": _usage(reply)})
        else:
            await self._stream(stream, request, reply)

    async def _hold(self) -> None:
        self.held += 1
        mine = self.held
        self._note()
        await self.until(lambda: self._released >= mine)

    async def _stream(self, stream: SocketStream, request: Mapping[str, Any], reply: Reply) -> None:
        await stream.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
            b"Connection: close\r\n\r\n"
        )
        sent = 0
        async for piece in self._pieces(reply):
            if reply.drop_after_chars is not None and sent >= reply.drop_after_chars:
                return
            delta = {"role": "assistant", "content": piece} if sent == 0 else {"content": piece}
            await _send_event(stream, _envelope(request, "chat.completion.chunk", [_choice(delta, None)]))
            sent += len(piece)
        if reply.drop_after_chars is not None:
            return
        await _send_event(stream, _envelope(request, "chat.completion.chunk", [_choice({}, reply.finish_reason)]))
        if (request.get("stream_options") or {}).get("include_usage"):
            await _send_event(stream, _envelope(request, "chat.completion.chunk", []) | {"usage": _usage(reply)})
        await _send_chunk(stream, b"data: [DONE]\n\n")
        await stream.send(b"0\r\n\r\n")

    async def _pieces(self, reply: Reply) -> AsyncIterator[str]:
        hold = reply.hold_after_chars
        start = 0
        while start < len(reply.text):
            if hold is not None and start >= hold:
                await self._hold()
                hold = None
            end = min(start + reply.chunk_chars, len(reply.text))
            if hold is not None and start < hold:
                end = min(end, hold)
            if reply.chunk_delay_s:
                await anyio.sleep(reply.chunk_delay_s)
            yield reply.text[start:end]
            start = end
        if hold is not None:
            await self._hold()


def read_script(text: str) -> list[Reply]:
    """Replies from JSON: a list whose items are texts or objects with the fields of Reply."""
    return [Reply(item) if isinstance(item, str) else Reply(**item) for item in json.loads(text)]


def _choice(delta: Mapping[str, Any], finish_reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish_reason}


def _envelope(request: Mapping[str, Any], kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": request.get("model"), "choices": choices}


def _usage(reply: Reply) -> dict[str, Any]:
    given, made, cached = reply.usage
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": given + made,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


async def _read_request(stream: SocketStream) -> tuple[str, str, dict[str, str], bytes]:
    buffered = BufferedByteReceiveStream(stream)
    head = (await buffered.receive_until(b"\r\n\r\n", _MAX_HEAD_BYTES)).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await buffered.receive_exactly(int(headers.get("content-length", "0")))
    return method, path, headers, body


async def _send_json(stream: SocketStream, status: int, value: Any, retry_after_s: float | None = None) -> None:
    body = json.dumps(value).encode()
    again = f"Retry-After: {retry_after_s:g}\r\n" if retry_after_s is not None else ""
    head = (
        f"HTTP/1.1 {status} {_REASONS.get(status, 'Scripted')}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n{again}\r\n"
    )
    await stream.send(head.encode() + body)


async def _send_event(stream: SocketStream, value: Any) -> None:
    await _send_chunk(stream, f"data: {json.dumps(value)}\n\n".encode())


async def _send_chunk(stream: SocketStream, data: bytes) -> None:
    await stream.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")


async def _main(port: int, script: list[Reply]) -> None:
    async with OpenAIServer(script, port=port) as server:
        print(server.base_url, flush=True)  # noqa: T201 - the process that started it reads this line
        await anyio.sleep_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A scripted OpenAI chat-completions server on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, required=True)
    arguments = parser.parse_args()
    anyio.run(_main, arguments.port, read_script(arguments.script.read_text()))
