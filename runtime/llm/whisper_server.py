"""The process that listens: OpenAI's `/audio/transcriptions` on the socket that it is given, one recording at a time.

It has no key and no secret, and ends with its parent. A recording comes from anybody: its decoder may use so much
memory and time, and a process that goes beyond is ended and started again by the next recording.
"""

from __future__ import annotations

import asyncio
import ctypes
import io
import json
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from aiohttp import web

PATH: Final = "/v1/audio/transcriptions"
MAX_WAITING: Final = 8
"""Recordings that may wait for their turn."""

MAX_BYTES: Final = 32 * 1024 * 1024
LONGER_S: Final = 30.0
"""How much longer than a request may take its thread is waited for, before the process ends."""

_SET_PARENT_DEATH_SIGNAL = 1


class TooSlow(Exception):
    """The recording took longer than allowed, or nobody waits for its words."""


class WhisperListener:
    def __init__(self, model: Any, limit_s: float) -> None:
        self._model = model
        self._limit_s = limit_s
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._waiting = 0

    async def answer(self, request: web.Request) -> web.Response:
        if self._waiting >= MAX_WAITING:
            return _failed(429, "Too many recordings are waiting.")
        self._waiting += 1
        left = threading.Event()
        try:
            form = await request.post()
            given = form.get("file")
            if not isinstance(given, web.FileField):
                return _failed(400, "There is no file.")
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._thread, self._written, given.file.read(), left)
        except TooSlow as error:
            return _failed(503, str(error))
        except Exception as error:  # noqa: BLE001 - a library says so much of what anybody may send
            return _failed(400, f"The recording cannot be read ({type(error).__name__}).")
        finally:
            left.set()
            self._waiting -= 1
        return web.json_response(found)

    def _written(self, data: bytes, left: threading.Event) -> dict[str, Any]:
        """The words, in a thread of its own. Segments are made one by one, as they are asked for."""
        late = threading.Timer(self._limit_s + LONGER_S, os._exit, (1,))
        late.daemon = True
        late.start()
        until_s = time.monotonic() + self._limit_s
        try:
            segments, info = self._model.transcribe(io.BytesIO(data), vad_filter=True)
            texts = []
            for segment in segments:
                if left.is_set() or time.monotonic() > until_s:
                    raise TooSlow(f"The recording was not written down in {self._limit_s:g} s.")
                texts.append(segment.text)
        finally:
            late.cancel()
        return {"text": "".join(texts).strip(), "language": info.language, "duration": info.duration}


def _failed(status: int, text: str) -> web.Response:
    return web.json_response({"error": {"message": text}}, status=status)


def _load(folder: str) -> Any:
    from faster_whisper import WhisperModel  # noqa: PLC0415 - an extra

    threads = max(1, (os.cpu_count() or 2) // 2)  # the gateway goes on beside it
    return WhisperModel(folder, device="cpu", compute_type="int8", cpu_threads=threads, local_files_only=True)


async def _serve(listener: WhisperListener, sock: socket.socket) -> None:
    application = web.Application(client_max_size=MAX_BYTES)
    application.router.add_post(PATH, listener.answer)
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.SockSite(runner, sock).start()
    await asyncio.Event().wait()


def main() -> None:
    """Serve until the parent ends. The argument is JSON: `socket`, `parent`, `folder`, `memory` (bytes), `limit_s`."""
    told: Mapping[str, Any] = json.loads(sys.argv[-1])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != told["parent"]:
        os._exit(1)
    for number in (signal.SIGINT, signal.SIGTERM):  # the gateway drains first
        signal.signal(number, signal.SIG_IGN)
    os.nice(5)
    resource.setrlimit(resource.RLIMIT_DATA, (told["memory"], told["memory"]))
    listener = WhisperListener(_load(told["folder"]), told["limit_s"])
    asyncio.run(_serve(listener, socket.socket(fileno=told["socket"])))
