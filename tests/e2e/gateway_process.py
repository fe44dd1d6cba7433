"""The whole gateway as a process of its own, which tests start, talk to, kill and start again."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
from anyio.abc import Process, TaskGroup
from websockets.asyncio.client import connect

from tests.e2e.warm_starts import WarmProcess, warm_for
from tests.fakes.pages.page_socket import PageSocket

ROOT = Path(__file__).parents[2]
START_LIMIT_S = 120.0
SEEN_LIMIT_S = 90.0
"""How long something that must become visible is waited for."""

STANDBY = ("--role", "standby")
"""The options of a gateway that keeps a front and agent nodes."""

_WEB_CHAT = r"web chat\s+(http://\S+)"
_URL = r"(?:web chat|health|bus|tape)\s+(http://\S+)"


def environment_of(data_dir: Path, more: Mapping[str, str]) -> dict[str, str]:
    """What a process of ours needs and nothing of the tester's own."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(data_dir),
        "PYTHONPATH": str(ROOT),
        "PARLEY_DATA_DIR": str(data_dir),
        "PARLEY_WEB__PORT": "0",
        "PARLEY_PROGRAMS__SECOND_READER": "false",  # a model's script has no answer for it
        **more,
    }


def key_in(folder: Path) -> dict[str, str]:
    """A model's key in a file. A gateway that finds one in its environment starts a second time, to hide it."""
    key = folder / "model.key"
    key.write_text("key", encoding="utf-8")
    return {"PARLEY_MODEL_API_KEY_FILE": str(key)}


class Gateway:
    """`parley run [PROGRAM]`, or another command that serves, on a data directory that outlives it.

    Its output is read as long as it runs. A fresh one loads its modules itself, see `warm_starts`.
    """

    def __init__(
        self,
        data_dir: Path,
        program: Path | None,
        environment: Mapping[str, str],
        tasks: TaskGroup,
        options: Sequence[str] = (),
        command: str = "run",
        *,
        fresh: bool = False,
    ) -> None:
        self._fresh = fresh
        self._options = options
        self._command = command
        self.url = ""
        self.output = ""
        self.data_dir = data_dir
        self._program = program
        self._environment = dict(environment)
        self._tasks = tasks
        self._process: Process | WarmProcess | None = None
        self._changed = anyio.Event()
        self._cookies: dict[str, str] = {}

    @property
    def process_id(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether its process lives."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Return when it says where to go. Fails with its output when it does not."""
        program = [] if self._program is None else [str(self._program)]
        process = await self._begun([self._command, *program, *self._options])
        self._process, self.output = process, ""
        self._tasks.start_soon(self._read, process)
        self._tasks.start_soon(process.wait)
        with anyio.fail_after(START_LIMIT_S):
            # Of several processes that start at once, those without a web chat may be the first to say where they are.
            self.url = (await self.prints(_WEB_CHAT if "standby" in self._options else _URL))[0][1]

    async def _begun(self, arguments: Sequence[str]) -> Process | WarmProcess:
        environment = environment_of(self.data_dir, self._environment)
        if not self._fresh and (warm := warm_for(arguments, environment)):
            return await warm.begin(arguments, environment, self.data_dir)
        command = [sys.executable, "-m", "gateway", *arguments]
        return await anyio.open_process(command, env=environment, cwd=self.data_dir, stderr=subprocess.STDOUT)

    async def prints(self, pattern: str, times: int = 1) -> list[re.Match[str]]:
        """Return when the output of this run contains the pattern so often."""
        with anyio.fail_after(SEEN_LIMIT_S):
            while len(found := list(re.finditer(pattern, self.output))) < times:
                assert self._process is not None
                assert self._process.returncode is None, f"the gateway ended: {self.output}"
                await self._changed.wait()
        return found

    async def listens_to(self, platform: str) -> None:
        """Return when this run has logged that a platform's adapter is connected."""
        await self.prints(f'"platform": "{platform}", "event": "adapter.connected"')

    async def more_output(self) -> None:
        """Return when it prints something."""
        await self._changed.wait()

    async def _read(self, process: Process | WarmProcess) -> None:
        pieces = process.output() if isinstance(process, WarmProcess) else process.stdout
        assert pieces is not None
        async for piece in pieces:
            self.output += piece.decode(errors="replace")
            self._note()
        await process.wait()
        self._note()

    def _note(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    def kill(self) -> None:
        """Kill -9, at once."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal that does not end it."""
        assert self._process is not None
        self._process.send_signal(number)

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
            async with httpx.AsyncClient(
                base_url=self.url, headers={"origin": self.url}, timeout=SEEN_LIMIT_S
            ) as client:
                answer = await client.post("/login", json={"name": name})
                answer.raise_for_status()
                self._cookies[name] = "; ".join(f"{key}={value}" for key, value in answer.cookies.items())
        return self._cookies[name]

    def know(self, name: str, cookie: str) -> None:
        """Have pages of this name come with a cookie that another node gave."""
        self._cookies[name] = cookie

    @asynccontextmanager
    async def page(self, name: str = "Ada") -> AsyncIterator[PageSocket]:
        """A browser page without a screen. It reads ahead without bound, so that it notices a kill at once."""
        headers = {"Cookie": await self.cookie(name)}
        url = self.url.replace("http:", "ws:") + "/ws"
        async with connect(
            url,
            origin=self.url,  # type: ignore[arg-type]
            additional_headers=headers,
            proxy=None,
            max_queue=None,
            open_timeout=SEEN_LIMIT_S,
        ) as socket:
            yield PageSocket(socket)


@asynccontextmanager
async def gateway(
    data_dir: Path,
    program: Path | None,
    environment: Mapping[str, str] | None = None,
    *,
    options: Sequence[str] = (),
    command: str = "run",
    fresh: bool = False,
) -> AsyncIterator[Gateway]:
    """A running gateway, which is killed in the end if it still lives."""
    async with anyio.create_task_group() as tasks:
        made = Gateway(data_dir, program, environment or {}, tasks, options, command, fresh=fresh)
        try:
            await made.start()
            yield made
        finally:
            with anyio.CancelScope(shield=True):
                made.kill()
                await made.gone()


async def parley(data_dir: Path, *arguments: str, **environment: str) -> tuple[int, str, str]:
    """Run a command to its end; its exit code, its output and its errors."""
    whole = environment_of(data_dir, environment)
    with anyio.fail_after(START_LIMIT_S):
        if warm := warm_for(arguments, whole):
            process = await warm.begin(arguments, whole, data_dir, errors_apart=True)
            try:
                said, errors = await process.all_output()
            finally:
                process.kill()
            return await process.wait(), said, errors
        command = [sys.executable, "-m", "gateway", *arguments]
        done = await anyio.run_process(command, env=whole, cwd=data_dir, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Room:
    """A room as a page without a screen sees it: messages by id, kept up to date."""

    def __init__(self, page: PageSocket, name: str = "lobby") -> None:
        self._page = page
        self.name = name
        self.messages: dict[str, dict[str, Any]] = {}
        self.version = 0

    async def join(self) -> None:
        """See what there is."""
        with anyio.fail_after(SEEN_LIMIT_S):
            joined = await self._page.join(self.name)
        self.messages = {message["id"]: message for message in joined["messages"]}
        self._note_versions()

    async def join_again(self, before: Room) -> None:
        """See what has changed since `before`, as a page does whose connection has ended."""
        with anyio.fail_after(SEEN_LIMIT_S):
            joined = await self._page.join(self.name, version=before.version or None)
        changed = {message["id"]: message for message in joined["messages"]}
        kept = {} if joined["reset"] else {id_: message | {"live": False} for id_, message in before.messages.items()}
        self.messages = kept | changed
        self.version = 0 if joined["reset"] else before.version
        self._note_versions()

    async def open(self) -> None:
        """Make the room, and see what there is."""
        await self._page.send("open", name=self.name)
        await self._page.until("opened", room=self.name)
        await self.join()

    async def say(self, text: str, *, message_id: str = "") -> str:
        """Say something; the message's id."""
        return await self._page.say(text, room=self.name, message_id=message_id)

    def texts(self, kind: str = "agent") -> list[str]:
        """The texts of agents (or people, or notices), in the order of the room."""
        return [message["text"] for message in self._ordered(kind)]

    def ids(self, kind: str = "agent") -> list[str]:
        """The ids of the messages whose texts `texts` gives."""
        return [message["id"] for message in self._ordered(kind)]

    async def until(self, *texts: str, kind: str = "agent") -> None:
        """Return when exactly these texts, finished, are what can be seen."""
        await self.until_that(lambda: self.texts(kind) == list(texts) and not self.growing)

    async def until_some(self, part: str) -> None:
        """Return when a message contains `part`, finished or not."""
        await self.until_that(lambda: any(part in message["text"] for message in self.messages.values()))

    async def until_that(self, holds: Callable[[], bool], *, limit_s: float | None = SEEN_LIMIT_S) -> None:
        """Return when it holds; it is asked after everything that changes."""
        try:
            with anyio.fail_after(limit_s):
                while not holds():
                    self._apply(await self._page.next())
        except TimeoutError:
            raise AssertionError(f"{self.name} shows {[m['text'] for m in self.messages.values()]}") from None

    def _ordered(self, kind: str) -> list[dict[str, Any]]:
        ordered = sorted(self.messages.values(), key=lambda message: message["seq"])
        return [message for message in ordered if message["kind"] == kind]

    @property
    def growing(self) -> bool:
        """Whether a message is not finished."""
        return any(message["live"] for message in self.messages.values())

    def _apply(self, frame: dict[str, Any]) -> None:
        if frame["t"] == "message" and frame["room"] == self.name:
            self.messages[frame["message"]["id"]] = frame["message"]
        elif frame["t"] == "grow" and frame["room"] == self.name:
            message = self.messages[frame["id"]]
            text = message["text"]
            message["text"] = text[: len(text) - frame.get("cut", 0)] + frame["add"]
            message["live"] = "done" not in frame
            self.version = max(self.version, frame.get("done", {}).get("version", 0))
        elif frame["t"] == "alone" and frame["room"] == self.name:
            self._note_alone(frame["text"])
        self._note_versions()

    def _note_alone(self, text: str) -> None:
        """An answer that nobody else sees stands after what is there, as a notice."""
        seq = max((message["seq"] for message in self.messages.values()), default=0)
        id_ = f"alone {len(self.messages)}"
        self.messages[id_] = {"id": id_, "seq": seq, "version": 0, "kind": "notice", "text": text, "live": False}

    def _note_versions(self) -> None:
        self.version = max([self.version, *(message["version"] for message in self.messages.values())])
