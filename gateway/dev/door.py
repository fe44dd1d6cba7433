"""The routes of the board beside the chat: the page with it, a stream of what is new, and the switch."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from adapters.web.codec import WebVisitor
from gateway.dev.board import DevBoard
from gateway.dev.folder import TEMPLATES, template
from gateway.web.app import ASSETS, PAGE, files_at, page_at
from gateway.web.guard import LOOPBACK_HOSTS
from gateway.web.logins.door import refused, small_json
from runtime.llm.models import ModelRegistry

OWN = Path(__file__).parent / "page"
_QUIET_S = 15.0
"""After so long without news a line says that we are still here."""

_PAUSE_S = 0.08
"""The shortest time between two views: steps run faster than people read."""

_HEAD = '<link rel="stylesheet" href="/dev/assets/dev.css">\n<script src="/dev/assets/dev.js" type="module"></script>\n'


OwnerOf = Callable[[Request], Awaitable[WebVisitor | None]]
"""The owner of the chat that a request comes from. Raises StorageUnavailable."""


def board_routes(board: object, owner: OwnerOf, models: ModelRegistry | None) -> list[BaseRoute]:
    """The routes of the board, where there is one: its page is in the place of the chat's. Without a model in `models`,
    a program of one's own is opened with a scripted one."""
    if not isinstance(board, DevBoard):
        return []
    door = _Door(board, owner, scripted=models is None or models.client_for("execute") is None)
    return [
        page_at("/", {ASSETS: PAGE}, _HEAD),
        Route("/dev/news", door.news),
        Route("/dev/source", door.source),
        Route("/dev/own", door.own, methods=["GET", "POST"])
        if board.own is not None
        else Route("/dev/anew", door.anew, methods=["POST"]),
        files_at("/dev/assets/", OWN),
    ]


class _Door:
    def __init__(self, board: DevBoard, owner: OwnerOf, *, scripted: bool) -> None:
        self._board = board
        self._owner = owner
        self._scripted = scripted

    async def news(self, request: Request) -> Response:
        """What is to be seen beside a room, again whenever it has changed, as server-sent events."""
        lines = self._lines(request.query_params.get("room", "lobby"))
        return StreamingResponse(lines, media_type="text/event-stream", headers={"cache-control": "no-store"})

    async def _lines(self, room: str) -> AsyncIterator[str]:
        board, seen, last = self._board, -1, ""
        while True:
            if board.moment == seen:
                with anyio.move_on_after(_QUIET_S) as quiet:
                    await board.changed.wait()
                if quiet.cancelled_caught:
                    yield ": here\n\n"
                    continue
            seen = board.moment
            view = json.dumps(board.view(room))
            if view != last:
                last = view
                yield f"data: {view}\n\n"
            await anyio.sleep(_PAUSE_S)

    async def source(self, request: Request) -> Response:
        """The text of a file of a program."""
        text = await anyio.to_thread.run_sync(self._board.source, request.query_params.get("file", ""))
        return PlainTextResponse("" if text is None else text, 200 if text is not None else 404)

    async def anew(self, request: Request) -> Response:
        """Switch whether rooms begin anew after a reload, {"anew": "yes" or "no"}; or begin anew, {"anew": "now"}."""
        form = await small_json(request) or {}
        if form.get("anew") == "now":
            await self._board.begin_anew(self._board.names())
        else:
            self._board.anew = form.get("anew") == "yes"
            self._board.touch()
        return JSONResponse({"anew": self._board.anew})

    async def own(self, request: Request) -> Response:
        """The templates of programs; or a program made from one, {"template": name}, in a folder that is not there yet.
        For an owner who sits at this machine."""
        assert self._board.own is not None
        here = request.client is not None and request.client.host in LOOPBACK_HOSTS
        may = here and "x-forwarded-for" not in request.headers and await self._owner(request) is not None
        if request.method == "GET":
            offered = [{"name": one.name, "what": one.what} for one in TEMPLATES if may]
            return JSONResponse({"templates": offered}, headers={"cache-control": "no-store"})
        if not may:
            return refused("Only an owner on this machine makes a program here.", 403)
        name = str((await small_json(request) or {}).get("template"))
        found = template(name)
        if found is None:
            return refused(f"There is no template {name}.", 400)
        try:
            command = await anyio.to_thread.run_sync(self._board.own, found)
            return JSONResponse({"command": f"{command} --model scripted" if self._scripted else command})
        except OSError as error:
            return refused(f"The folder {name} cannot be written: {error.strerror}.", 409)
