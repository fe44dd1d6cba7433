"""Where files come from: the platform that people sent them on, or our own store."""

import pytest

from adapters.web.adapter import WebAdapter
from gateway.outbound.pages import NodeFileAccess
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.errors import NotDelivered
from runtime.core.files import FILE_URL
from runtime.core.message import Attachment
from tests.fakes.memory.files import MemoryFileStore
from tests.fakes.memory.rooms import memory_tables

LOBBY = Address("web", "lobby")


class Cellar(WebAdapter):
    """A platform with one file."""

    def __init__(self) -> None:
        super().__init__(memory_tables(), SystemClock())
        self.asked: list[tuple[str, int]] = []

    async def download(self, url: str, /, *, max_bytes: int) -> bytes:
        self.asked.append((url, max_bytes))
        return b"from the platform"


async def test_a_file_of_a_platform_is_fetched_there() -> None:
    cellar = Cellar()
    files = NodeFileAccess({"web": cellar}, MemoryFileStore())
    file = Attachment("a.txt", "text/plain", "web:1")
    assert await files.fetch(LOBBY, file, max_bytes=100) == b"from the platform"
    assert cellar.asked == [("web:1", 100)]


async def test_a_file_of_ours_comes_from_the_store() -> None:
    files = NodeFileAccess({}, MemoryFileStore())
    kept = await files.keep(b"a,b", "text/csv", LOBBY)
    file = Attachment("a.csv", "text/csv", FILE_URL + kept, 3)
    assert await files.fetch(LOBBY, file, max_bytes=3) == b"a,b"
    loaded = await files.load(file)
    assert (loaded.name, loaded.media_type, loaded.data) == ("a.csv", "text/csv", b"a,b")


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (Attachment("a.csv", "text/csv", FILE_URL + "0" * 64), "no longer exists"),
        (Attachment("a.csv", "text/csv", "web:1", 101), "longer than 100 bytes"),
        (Attachment("a.csv", "text/csv", "elsewhere:1"), "provides no files"),
    ],
)
async def test_what_cannot_be_had_says_why(file: Attachment, reason: str) -> None:
    files = NodeFileAccess({"web": Cellar()}, MemoryFileStore())
    address = Address(file.url.partition(":")[0], "1") if file.url.startswith("elsewhere") else LOBBY
    with pytest.raises(NotDelivered, match=reason):
        await files.fetch(address, file, max_bytes=100)


async def test_a_platform_that_gives_more_than_was_asked_for_is_not_believed() -> None:
    files = NodeFileAccess({"web": Cellar()}, MemoryFileStore())
    with pytest.raises(NotDelivered, match="longer than 4 bytes"):
        await files.fetch(LOBBY, Attachment("a.txt", "text/plain", "web:1"), max_bytes=4)
