"""Files over HTTP, served for real: who may, how much, and that nothing of them ever runs in the page."""

from __future__ import annotations

from urllib.parse import quote

import anyio
import httpx
import pytest

from gateway.web import files
from gateway.web.files import UPLOADS
from runtime.core.files import MAX_FILE_BYTES
from tests.fakes.pages.page_socket import ADA, GRACE
from tests.fakes.pages.web_chat import WebChat, web_chat

pytestmark = pytest.mark.anyio


def client(chat: WebChat, person: object = ADA) -> httpx.AsyncClient:
    headers = {} if person is None else {"Cookie": chat.cookie(ADA)}
    return httpx.AsyncClient(base_url=chat.url, trust_env=False, timeout=60, headers=headers)


async def test_a_file_comes_back_as_it_was_posted() -> None:
    async with web_chat() as chat, client(chat) as http:
        posted = await http.post("/files", content=b"a,b\x00", headers={"Content-Type": "Text/CSV; charset=utf-8"})
        answer = posted.json()
        assert (answer["type"], answer["size"]) == ("text/csv", 4)
        found = await http.get(f"/files/{answer['id']}?name=sales.csv")
        assert found.content == b"a,b\x00"
        assert found.headers["content-disposition"] == "attachment; filename*=UTF-8''sales.csv"
        again = await http.post("/files", content=b"a,b\x00", headers={"Content-Type": "text/csv"})
        assert again.json()["id"] == answer["id"]


async def test_strangers_neither_post_nor_fetch() -> None:
    async with web_chat() as chat, client(chat, None) as http:
        kept = await chat.files.keep(b"secret", "text/plain")
        assert (await http.post("/files", content=b"x")).status_code == 401
        refused = await http.get(f"/files/{kept}")
        assert refused.status_code == 401
        assert b"secret" not in refused.content


@pytest.mark.parametrize("media_type", ["text/html", "image/svg+xml", "application/xhtml+xml", "text/javascript", "x"])
async def test_what_could_run_is_only_ever_saved(media_type: str) -> None:
    async with web_chat() as chat, client(chat) as http:
        body = b"<script>alert(1)</script>"
        posted = (await http.post("/files", content=body, headers={"Content-Type": media_type})).json()
        found = await http.get(f"/files/{posted['id']}?name=a.html")
        assert found.headers["content-type"] == "application/octet-stream"
        assert found.headers["content-disposition"].startswith("attachment")
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["content-security-policy"] == "default-src 'none'; sandbox"


async def test_a_picture_is_answered_as_one_and_still_saved() -> None:
    async with web_chat() as chat, client(chat) as http:
        posted = (await http.post("/files", content=b"\x89PNG", headers={"Content-Type": "image/png"})).json()
        found = await http.get(f"/files/{posted['id']}")
        assert found.headers["content-type"] == "image/png"
        assert found.headers["content-disposition"].startswith("attachment")


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ('a"\r\nX-Evil: 1.txt', "aX-Evil 1.txt"),
        ("Grüße 🎉.txt", "Grüße 🎉.txt"),
        ("", "file"),
        ("x" * 300 + ".csv", "x" * 116 + ".csv"),
    ],
)
async def test_a_name_cannot_leave_its_folder_or_its_header(name: str, saved: str) -> None:
    async with web_chat() as chat, client(chat) as http:
        kept = await chat.files.keep(b"x", "text/plain")
        found = await http.get(f"/files/{kept}", params={"name": name})
        assert found.headers["content-disposition"] == f"attachment; filename*=UTF-8''{quote(saved, safe='')}"
        assert "x-evil" not in found.headers


async def test_too_large_a_file_is_refused() -> None:
    async with web_chat() as chat, client(chat) as http:
        refused = await http.post("/files", content=b"x" * (MAX_FILE_BYTES + 1))
        assert (refused.status_code, refused.json()["error"]) == (413, "This file is larger than 20 MiB.")


@pytest.mark.parametrize("path", ["0" * 64, "..%2f..%2fetc%2fpasswd", "*", "A" * 64])
async def test_what_is_not_kept_is_not_found(path: str) -> None:
    async with web_chat() as chat, client(chat) as http:
        assert (await http.get(f"/files/{path}")).status_code == 404


async def test_a_person_posts_only_so_many_at_once() -> None:
    async with web_chat() as chat, client(chat) as http:
        answers = [(await http.post("/files", content=b"x")).status_code for _ in range(2 * int(UPLOADS.burst))]
        assert answers[: int(UPLOADS.burst)] == [200] * int(UPLOADS.burst)
        assert 429 in answers
        http.headers["Cookie"] = chat.cookie(GRACE)
        assert (await http.post("/files", content=b"x")).status_code == 200


async def test_a_foreign_page_cannot_post() -> None:
    async with web_chat() as chat, client(chat) as http:
        assert (await http.post("/files", content=b"x", headers={"Origin": "http://evil.example"})).status_code == 403


async def test_files_that_never_arrive_do_not_keep_others_from_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "UPLOAD_TIMEOUT_S", 2.0)
    monkeypatch.setattr(files, "AT_ONCE", 1)
    async with web_chat() as chat, await anyio.connect_tcp("127.0.0.1", chat.port) as stuck, client(chat) as http:
        lines = ("POST /files HTTP/1.1", "Host: 127.0.0.1", "Content-Length: 9", f"Cookie: {chat.cookie(ADA)}")
        await stuck.send("\r\n".join((*lines, "", "123")).encode())
        assert (await http.post("/files", content=b"x")).status_code == 200
        assert (await stuck.receive()).startswith(b"HTTP/1.1 408 ")
