"""Pages for browsers: what people see first comes with the page itself, and a browser asks for each file once."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from gateway.web.guard import content_policy

PAGE = Path(__file__).parent / "page"
ASSETS = "/assets/"
"""The address of the chat's files, which other pages use, too."""

_COMPRESSED = [Middleware(GZipMiddleware, compresslevel=6)]
_FOR_GOOD = "public, max-age=31536000, immutable"
_SEEN_FIRST = re.compile(r'<(?:link rel="(style)sheet" href|(script) src)="([^"]+)">(?:</script>)?')


@cache
def _version(folder: Path) -> tuple[str, float]:
    """The part of an address that changes with any file of the folder, and when the last of them was written."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    texts = (file.relative_to(folder).as_posix().encode() + file.read_bytes() for file in files)
    return f"v-{sha256(b''.join(texts)).hexdigest()[:16]}", max(file.stat().st_mtime for file in files)


class WebAssets(StaticFiles):
    """Files that a browser keeps where their address has their version, unless an upgrade has written them meanwhile.
    Others it checks each time, so that it never mixes two versions of a page.
    """

    async def get_response(self, path: str, scope: Scope) -> Response:
        version, _, rest = path.partition("/")
        response = await super().get_response(rest if version.startswith("v-") else path, scope)
        now, written_at = _version(Path(str(self.directory)))
        file = response.stat_result if isinstance(response, FileResponse) else None
        kept = version == now and file is not None and file.st_mtime <= written_at
        response.headers["cache-control"] = _FOR_GOOD if kept else "no-cache"
        return response


def files_at(path: str, folder: Path) -> Mount:
    """The files of a folder below a path."""
    return Mount(path.rstrip("/"), WebAssets(directory=folder), middleware=_COMPRESSED)


def page_at(path: str, folders: dict[str, Path], head: str = "") -> Route:
    """The index.html of the last folder, with `head` in its head. `folders` are those of its files, by address."""

    async def page(request: Request) -> Response:
        text, policy = _page(tuple(folders.items()), head)
        tag = f'"{sha256(text.encode()).hexdigest()[:16]}"'
        headers = {"cache-control": "no-cache", "content-security-policy": policy, "etag": tag}
        unchanged = request.headers.get("if-none-match", "").removeprefix("W/") == tag
        return Response(status_code=304, headers=headers) if unchanged else HTMLResponse(text, headers=headers)

    return Route(path, page, middleware=_COMPRESSED)


def told(scope: Scope, title: str, text: str) -> Response:
    """An answer where nothing is, as a page for a browser, else as text."""
    if "text/html" not in Headers(scope=scope).get("accept", ""):
        return PlainTextResponse(f"{title}. {text}\n", 404)
    page, policy = _page(((ASSETS, PAGE),), "", "told.html")
    page = page.replace("{title}", escape(title)).replace("{text}", escape(text))
    return HTMLResponse(page, 404, headers={"content-security-policy": policy})


@cache
def _page(folders: tuple[tuple[str, Path], ...], head: str, name: str = "index.html") -> tuple[str, str]:
    """A page whose styles, and scripts that nothing else is drawn before, stand in it; and its content policy."""
    inlined: list[str] = []

    def with_text(kind: str, text: str) -> str:
        inlined.append(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'")
        return f"{kind}>{text}</{kind.partition(' ')[0]}>"

    def in_place(found: re.Match[str]) -> str:
        style, script, address = found.groups()
        at, folder = max((each for each in folders if address.startswith(each[0])), key=lambda each: len(each[0]))
        return "<" + with_text(style or script, (folder / address.removeprefix(at)).read_text(encoding="utf-8"))

    text = _SEEN_FIRST.sub(in_place, (folders[-1][1] / name).read_text(encoding="utf-8"))
    addresses = {at: f"{at}{_version(folder)[0]}/" for at, folder in folders}
    for at, kept in addresses.items():
        text = text.replace(f'"{at}', f'"{kept}')
    same = {kept: kept for kept in addresses.values()}
    imports = "<" + with_text('script type="importmap"', json.dumps({"imports": addresses | same}))
    text = text.replace("<head>", f"<head>\n{imports}", 1).replace("</head>", f"{head}</head>", 1)
    return text, content_policy(" ".join(inlined))
