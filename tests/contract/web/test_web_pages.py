"""What a browser fetches to show a page: little, at once, and once."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from gateway.console import door
from gateway.web.app import PAGE, files_at, page_at
from tests.fakes.pages.web_chat import WebChat, web_chat

pytestmark = pytest.mark.anyio

FOLDERS = {"/assets/": PAGE, "/console/assets/": door.PAGE}
_IMPORT = re.compile(r'^(?:import|export)\b[^;]*?"([./][^"]+)";', re.MULTILINE)


def client(chat: WebChat) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=chat.url, trust_env=False, timeout=60)


def needed(module: str, known: set[str]) -> set[str]:
    """The addresses of a module and of all that it imports before it runs."""
    if module not in known:
        known.add(module)
        at, folder = next(each for each in FOLDERS.items() if module.startswith(each[0]))
        for found in _IMPORT.findall((folder / module.removeprefix(at)).read_text(encoding="utf-8")):
            needed(str(httpx.URL("http://x" + module).join(found).path), known)
    return known


@pytest.mark.parametrize(
    ("folder", "first"), [(PAGE, "/assets/chat.js"), (door.PAGE, "/console/assets/console.js")], ids=["chat", "console"]
)
def test_a_page_names_all_its_modules_so_that_they_are_fetched_at_the_same_time(folder: Path, first: str) -> None:
    named = re.findall(r'rel="modulepreload" href="([^"]+)"', (folder / "index.html").read_text(encoding="utf-8"))
    assert sorted([first, *named]) == sorted(needed(first, set()))


async def test_the_page_comes_whole_with_its_look_and_is_not_sent_again_while_it_is_the_same() -> None:
    async with web_chat() as chat, client(chat) as http:
        page = await http.get("/")
        assert page.headers["content-encoding"] == "gzip"
        assert 'rel="stylesheet"' not in page.text
        inlined = re.findall(r'<(?:style|script(?: type="importmap")?)>(.+?)</', page.text, re.DOTALL)
        assert len(inlined) == 5
        for text in inlined:
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in page.headers["content-security-policy"]
        again = await http.get("/", headers={"if-none-match": page.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


async def test_files_are_kept_by_the_browser_also_after_a_restart_and_never_under_an_older_address() -> None:
    async with web_chat() as chat, client(chat) as http:
        [address] = re.findall(r'<script src="(/assets/v-[^"]+/chat.js)" type="module">', (await http.get("/")).text)
        script = await http.get(address)
        assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert script.headers["content-encoding"] == "gzip"
        older = await http.get(re.sub("v-[0-9a-f]+", "v-0123456789abcdef", address))
        assert (older.text, older.headers["cache-control"]) == (script.text, "no-cache")
        nothing = await http.get(address.replace("chat.js", "nothing.js"))
        assert (nothing.status_code, nothing.headers.get("cache-control")) == (404, None)
    async with web_chat() as restarted, client(restarted) as http:
        assert address in (await http.get("/")).text


async def test_a_file_of_an_upgrade_is_not_kept_under_the_address_of_the_version_before(tmp_path: Path) -> None:
    script = tmp_path / "page.js"
    script.write_text("before")
    (tmp_path / "index.html").write_text('<head></head><a href="/assets/page.js">')
    app = Starlette(routes=[page_at("/", {"/assets/": tmp_path}), files_at("/assets/", tmp_path)])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://chat") as http:
        [address] = re.findall(r'href="([^"]+)"', (await http.get("/")).text)
        assert "immutable" in (await http.get(address)).headers["cache-control"]
        script.write_text("after")
        os.utime(script, (script.stat().st_mtime + 10,) * 2)
        upgraded = await http.get(address)
    assert (upgraded.text, upgraded.headers["cache-control"]) == ("after", "no-cache")


@pytest.mark.parametrize(
    ("path", "title", "owners"),
    [
        ("/nothing", "There is nothing here", "Do you run this chat?"),
        ("/console", "There is no console here", "PARLEY_CONSOLE__PASSWORD"),
    ],
)
async def test_an_address_without_anything_says_where_one_is_and_what_to_do(path: str, title: str, owners: str) -> None:
    async with web_chat() as chat, client(chat) as http:
        page = await http.get(path, headers={"accept": "text/html,*/*"})
        assert page.status_code == 404
        assert f"<h1>{title}</h1>" in page.text
        assert owners in page.text
        assert 'href="/"' in page.text
        text = await http.get(path)
        assert (text.status_code, text.headers["content-type"]) == (404, "text/plain; charset=utf-8")
        assert text.text.startswith(title)
        assert (await http.post("/nothing")).status_code == 404
