"""The whole gateway as a process of its own, which tests start, talk to, kill and start again."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from websockets.asyncio.client import connect

from tests.fakes.page_socket import PageSocket

ROOT = Path(__file__).parents[2]
START_LIMIT_S = 60.0
_URL = re.compile(rb"web chat\s+(http://\S+)")


class Gateway:
    """`parley run PROGRAM` on a data directory that outlives it."""

    def __init__(self, data_dir: Path, program: Path, environment: Mapping[str, str]) -> None:
        self.url = ""
        self.output = b""
        self._data_dir = data_dir
        self._program = program
        self._environment = dict(environment)
        self._process: Process | None = None
        self._cookies: dict[str, str] = {}

    async def start(self) -> None:
        """Return when it says where to go. Fails with its output when it does not."""
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self._data_dir),
            "PYTHONPATH": str(ROOT),
            "PARLEY_DATA_DIR": str(self._data_dir),
            "PARLEY_WEB__PORT": "0",
            **self._environment,
        }
        command = [sys.executable, "-m", "gateway", "run", str(self._program)]
        self._process = await anyio.open_process(command, env=environment, cwd=self._data_dir, stderr=-2)
        assert self._process.stdout is not None
        output = BufferedByteReceiveStream(self._process.stdout)
        self.output = b""
        with anyio.fail_after(START_LIMIT_S):
            while not (found := _URL.search(self.output)):
                try:
                    self.output += await output.receive()
                except anyio.EndOfStream:
                    raise AssertionError(f"the gateway ended: {self.output.decode()}") from None
        self.url = found[1].decode()

    async def drain(self) -> None:
        """Read what it prints, for ever, so that it never waits for us."""
        assert self._process is not None
        assert self._process.stdout is not None
        async for piece in self._process.stdout:
            self.output += piece

    def kill(self) -> None:
        """Kill -9, at once."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to stop; its exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        return await self._process.wait()

    async def gone(self) -> None:
        """Return when the process has ended."""
        if self._process is not None:
            await self._process.wait()

    async def cookie(self, name: str) -> str:
        """Log in under a name; the same person after a restart."""
        if name not in self._cookies:
            async with httpx.AsyncClient(base_url=self.url, headers={"origin": self.url}) as client:
                answer = await client.post("/login", json={"name": name})
                answer.raise_for_status()
                self._cookies[name] = "; ".join(f"{key}={value}" for key, value in answer.cookies.items())
        return self._cookies[name]

    @asynccontextmanager
    async def page(self, name: str = "Ada") -> AsyncIterator[PageSocket]:
        """A browser page without a screen."""
        headers = {"Cookie": await self.cookie(name)}
        url = self.url.replace("http:", "ws:") + "/ws"
        async with connect(url, origin=self.url, additional_headers=headers, proxy=None) as socket:  # type: ignore[arg-type]
            yield PageSocket(socket)


@asynccontextmanager
async def gateway(
    data_dir: Path, program: Path, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Gateway]:
    """A running gateway, which is killed in the end if it still lives."""
    made = Gateway(data_dir, program, environment or {})
    await made.start()
    try:
        yield made
    finally:
        with anyio.CancelScope(shield=True):
            made.kill()
            await made.gone()


class Room:
    """A room as a page without a screen sees it: messages by id, kept up to date."""

    def __init__(self, page: PageSocket, name: str = "lobby") -> None:
        self._page = page
        self._name = name
        self.messages: dict[str, dict[str, Any]] = {}

    async def join(self) -> None:
        """See what there is."""
        joined = await self._page.join(self._name)
        self.messages = {message["id"]: message for message in joined["messages"]}

    def texts(self, kind: str = "agent") -> list[str]:
        """The texts of agents (or people, or notices), in the order of the room."""
        ordered = sorted(self.messages.values(), key=lambda message: message["seq"])
        return [message["text"] for message in ordered if message["kind"] == kind]

    async def until(self, *texts: str, kind: str = "agent") -> None:
        """Return when exactly these texts, finished, are what can be seen."""
        while self.texts(kind) != list(texts) or self._growing():
            self._apply(await self._page.next())

    async def until_some(self, part: str) -> None:
        """Return when a message contains `part`, finished or not."""
        while not any(part in message["text"] for message in self.messages.values()):
            self._apply(await self._page.next())

    def _growing(self) -> bool:
        return any(message["live"] for message in self.messages.values())

    def _apply(self, frame: dict[str, Any]) -> None:
        if frame["t"] == "message" and frame["room"] == self._name:
            self.messages[frame["message"]["id"]] = frame["message"]
        elif frame["t"] == "grow" and frame["room"] == self._name:
            message = self.messages[frame["id"]]
            text = message["text"]
            message["text"] = text[: len(text) - frame.get("cut", 0)] + frame["add"]
            message["live"] = "done" not in frame
