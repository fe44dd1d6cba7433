"""Files over HTTP: people upload them before a message, and everybody with access downloads them.

Requests from platforms: `/hooks/<platform>/…`, handed to the adapter, whose signature check is the guard.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from adapters.adapter import AnswersHttp, HttpRequest
from adapters.capabilities import Budget
from adapters.pacing.bucket import KeyedBudgets
from adapters.web.charters import ShownFiles
from gateway.web.logins.door import AWAY, LogIn, refused
from runtime.core.clock import Clock
from runtime.core.errors import ParleyError, StorageError
from runtime.core.files import MAX_FILE_BYTES, FileStore, clean_file_name
from runtime.core.plain_text import whole_number

UPLOADS = Budget(rate_per_s=0.5, burst=30)
"""The rate at which one person may upload files."""

UPLOAD_TIMEOUT_S = 60.0
"""The time limit of an upload, so that slow ones do not block all others."""

AT_ONCE = 4
"""The number of simultaneous uploads; further ones wait."""

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Types that are served as themselves, so that the page can show them. None of them can hold a script."""

SOUNDS = frozenset({"audio/ogg", "audio/mpeg", "audio/mp4", "audio/wav", "audio/webm"})
"""Types that are served as themselves, so that the page can play them."""

UNKNOWN_TYPE = "application/octet-stream"
_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}/[a-z0-9][a-z0-9.+-]{0,90}")
_FILE_ID = re.compile(r"[0-9a-f]{64}")
_HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "cache-control": "private, max-age=31536000, immutable",
    "vary": "cookie",
}
MAX_BODY_BYTES = 1024 * 1024
"""The longest request body. Platforms send far less."""

BODY_TIMEOUT_S = 10.0
"""The time for a request to arrive before it is refused: a platform's server is quick, and a slow client holds
our memory."""

HOOKS_AT_ONCE = 100
"""The number of simultaneous requests; the platform repeats a refused one. Telegram opens 40 connections at most (Bot
API, setWebhook).
"""

ANSWER_TIMEOUT_S = 30.0
"""The time limit of an adapter, after which the platform is asked to repeat the request."""

METHODS = ("GET", "POST", "PUT", "DELETE")


class FileRoutes:
    """`POST /files` and `GET /files/<id>?name=…`; both are for people who are logged in."""

    def __init__(self, log_in: LogIn, store: FileStore, shown: ShownFiles, clock: Clock) -> None:
        self._log_in = log_in
        self._store = store
        self._shown = shown
        self._uploads = KeyedBudgets(UPLOADS, clock)
        self._at_once = anyio.CapacityLimiter(AT_ONCE)

    def routes(self) -> list[Route]:
        return [Route("/files", self.post, methods=["POST"]), Route("/files/{id}", self.get)]

    async def post(self, request: Request) -> Response:
        """Store the body as a file; answers {id, type, size}, or {error} with 401, 408, 413, 429 or 503."""
        try:
            person = await self._log_in.person(request)
        except StorageError:
            return refused(AWAY, 503)
        if person is None:
            return refused("Choose a name first.", 401)
        if not self._uploads.take(person.id):
            return refused("That is a lot of files. Wait a minute.", 429)
        claimed = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        media_type = claimed if _TYPE.fullmatch(claimed) else UNKNOWN_TYPE
        try:
            async with self._at_once:
                body = await body_within(request, MAX_FILE_BYTES, UPLOAD_TIMEOUT_S)
                if body is None:
                    return refused(f"This file is larger than {MAX_FILE_BYTES // 2**20} MiB.", 413)
                id_ = await self._store.keep(body, media_type, person=person.id)
                await self._shown.uploaded(id_, person.id)
        except ClientDisconnect:
            return Response(status_code=400)
        except TimeoutError:
            return slow_body()
        except StorageError:
            return refused(AWAY, 503)
        return JSONResponse({"id": id_, "type": media_type, "size": len(body)})

    async def get(self, request: Request) -> Response:
        """A file for saving: whatever it holds, it is never shown as a page of ours."""
        id_ = request.path_params["id"]
        try:
            person = await self._log_in.person(request)
            if person is None:
                return refused("Choose a name first.", 401)
            known = _FILE_ID.fullmatch(id_) and await self._shown.shows(id_, person.id)
            found = await self._store.content(id_) if known else None
            if known and found is None:
                await self._shown.forget(id_)
        except StorageError:
            return refused(AWAY, 503)
        if found is None:
            return refused("This file no longer exists.", 404)
        name = clean_file_name(request.query_params.get("name", "file"))
        shown_type = found.media_type if found.media_type in PICTURES | SOUNDS else UNKNOWN_TYPE
        headers = {**_HEADERS, "content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
        return Response(found.data, media_type=shown_type, headers=headers)


class Hooks:
    def __init__(self, receivers: Mapping[str, AnswersHttp]) -> None:
        self._receivers = receivers
        self._at_once = anyio.CapacityLimiter(HOOKS_AT_ONCE)

    async def answer(self, request: Request) -> Response:
        """Hand the request to its platform's adapter.

        404 for an unknown platform, 408 and 413 for too slow and too long a body, 503 when it cannot be taken now: then
        platforms repeat it.
        """
        receiver = self._receivers.get(request.path_params["platform"])
        if receiver is None:
            return PlainTextResponse("No platform sends updates to this address.\n", status_code=404)
        try:
            self._at_once.acquire_on_behalf_of_nowait(request)
        except anyio.WouldBlock:
            return _not_now()
        try:
            return await self._handed(request, receiver)
        finally:
            self._at_once.release_on_behalf_of(request)

    async def _handed(self, request: Request, receiver: AnswersHttp) -> Response:
        try:
            body = await body_within(request, MAX_BODY_BYTES, BODY_TIMEOUT_S)
        except ClientDisconnect:
            return Response(status_code=400)
        except TimeoutError:
            return slow_body()
        if body is None:
            return PlainTextResponse(f"The limit is {MAX_BODY_BYTES} bytes.\n", status_code=413)
        taken = HttpRequest(
            method=request.method,
            path="/" + request.path_params.get("path", ""),
            query=dict(request.query_params),
            headers={name.lower(): value for name, value in request.headers.items()},
            body=body,
        )
        try:
            with anyio.fail_after(ANSWER_TIMEOUT_S):
                answer = await receiver.receive(taken)
        except (ParleyError, TimeoutError):
            return _not_now()
        return Response(answer.body, status_code=answer.status, headers=dict(answer.headers))


def hook_routes(receivers: Mapping[str, AnswersHttp]) -> list[Route]:
    hooks = Hooks(receivers)
    paths = ("/hooks/{platform}", "/hooks/{platform}/{path:path}")
    return [Route(path, hooks.answer, methods=METHODS) for path in paths]


def _not_now() -> Response:
    return PlainTextResponse("This cannot be accepted now. Send it again.\n", status_code=503)


def slow_body() -> Response:
    """Ends the connection of a request whose body nobody reads to the end."""
    return PlainTextResponse("This arrived too slowly.\n", status_code=408, headers={"connection": "close"})


async def body_within(request: Request, max_bytes: int, timeout_s: float) -> bytes | None:
    """The body of a request; None as soon as it is known to be too long. Raises TimeoutError and ClientDisconnect."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and whole_number(declared, max_bytes) is None:
        return None
    body = bytearray()
    with anyio.fail_after(timeout_s):
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_bytes:
                return None
    return bytes(body)
