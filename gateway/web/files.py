"""Files over HTTP: people upload them before a message, and everybody with access downloads them."""

from __future__ import annotations

import re
from urllib.parse import quote

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from adapters.capabilities import Budget
from adapters.pacing.bucket import KeyedBudgets
from adapters.web.charters import ShownFiles
from gateway.web.hooks import body_within, slow_body
from gateway.web.logins.door import AWAY, LogIn, refused
from runtime.core.clock import Clock
from runtime.core.errors import StorageError
from runtime.core.files import MAX_FILE_BYTES, FileStore, clean_file_name

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
