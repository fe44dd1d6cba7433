"""Files on their way to sessions: fetched, kept, read, within bounds, and a sentence about what is not."""

from adapters.web.adapter import WebAdapter
from gateway.features.files.node import StoredFileIntake
from gateway.features.files.reading import FileRemark, Reading, ReadPart
from gateway.features.files.settings import FileSettings
from gateway.outbound.pages import NodeFileAccess
from runtime.core.address import Address
from runtime.core.clock import SystemClock
from runtime.core.errors import AdapterError, NotDelivered, OutcomeUncertain
from runtime.core.files import FILE_URL, MAX_FILE_BYTES, FileBounds
from runtime.core.message import Attachment
from runtime.core.texts import english
from runtime.llm.client import VisionRecord
from tests.fakes.clock import HastyClock
from tests.fakes.memory.counters import MemoryCounters
from tests.fakes.memory.files import MemoryFileStore
from tests.fakes.memory.rooms import memory_tables

LOBBY = Address("web", "lobby")
PHOTO = Attachment("receipt.jpg", "text/plain", "web:1", 9)


class Shelf(WebAdapter):
    """A platform with one file, which it gives after some failures."""

    def __init__(self, *failures: AdapterError) -> None:
        super().__init__(memory_tables(), SystemClock())
        self._failures = list(failures)
        self.asked: list[str] = []

    async def download(self, url: str, /, *, max_bytes: int) -> bytes:
        self.asked.append(url)
        if self._failures:
            raise self._failures.pop(0)
        return b"as it was"


class Reader:
    """Reads every file as a picture."""

    def __init__(self, *remarks: FileRemark) -> None:
        self._remarks = remarks
        self.read_files: list[tuple[bytes, str]] = []

    async def read(self, data: bytes, media_type: str, /) -> Reading:
        self.read_files.append((data, media_type))
        return Reading("image/jpeg", (ReadPart("image", b"scaled down", 3),), self._remarks)


def intake(shelf: Shelf, store: MemoryFileStore, reader: Reader | None = None, **limits: int) -> StoredFileIntake:
    files = NodeFileAccess({"web": shelf}, store)
    clock = HastyClock()
    return StoredFileIntake(
        *(files, store, reader or Reader(), MemoryCounters(clock), FileSettings(**limits)),
        *(lambda _: english(), clock, VisionRecord()),
    )


async def test_a_file_is_kept_with_what_was_read_of_it_under_its_own_type() -> None:
    store = MemoryFileStore()
    taken_in = intake(Shelf(), store)
    (taken,) = await taken_in.take(LOBBY, [PHOTO], "1")
    file = taken.file
    assert (file.name, file.media_type, file.size_bytes, file.note, taken.remarks) == (
        *("receipt.jpg", "image/jpeg", 9, ""),
        (),
    )
    assert await taken_in.content(file.url) == b"as it was"
    (part,) = file.parts
    assert (part.kind, part.page, part.size_bytes) == ("image", 3, 11)
    assert await taken_in.content(part.url) == b"scaled down"


async def test_a_file_of_the_store_is_read_and_not_kept_again() -> None:
    store, shelf = MemoryFileStore(), Shelf()
    url = FILE_URL + await store.keep(b"uploaded", "text/plain")
    (taken,) = await intake(shelf, store).take(LOBBY, [Attachment("a.txt", "text/plain", url)], "1")
    assert (taken.file.url, shelf.asked) == (url, [])


async def test_what_the_reader_remarks_is_said_to_the_person_and_to_the_model() -> None:
    reader = Reader(FileRemark("cut_pages", {"pages": 900, "read": 500}))
    (taken,) = await intake(Shelf(), MemoryFileStore(), reader).take(LOBBY, [PHOTO], "1")
    assert taken.remarks == ("receipt.jpg has 900 pages. I read the first 500.",)
    assert taken.file.note == taken.remarks[0]


async def test_a_platform_that_fails_is_asked_again_and_then_named() -> None:
    shelf = Shelf(OutcomeUncertain("503"), OutcomeUncertain("503"))
    (taken,) = await intake(shelf, MemoryFileStore()).take(LOBBY, [PHOTO], "1")
    assert (len(taken.file.parts), len(shelf.asked)) == (1, 3)
    (taken,) = await intake(Shelf(*[OutcomeUncertain("503")] * 3), MemoryFileStore()).take(LOBBY, [PHOTO], "1")
    assert taken.file.url == "web:1"
    assert "Web is not delivering it at the moment" in taken.remarks[0]


async def test_a_file_that_is_gone_is_not_asked_for_again() -> None:
    shelf = Shelf(NotDelivered("gone"))
    (taken,) = await intake(shelf, MemoryFileStore()).take(LOBBY, [PHOTO], "1")
    assert len(shelf.asked) == 1
    assert taken.remarks[0].startswith("I could not get receipt.jpg: it is no longer there")


async def test_a_file_that_is_too_large_is_not_fetched() -> None:
    shelf = Shelf()
    large = Attachment("film.mp4", "video/mp4", "web:1", MAX_FILE_BYTES + 1)
    (taken,) = await intake(shelf, MemoryFileStore()).take(LOBBY, [large], "1")
    assert shelf.asked == []
    assert taken.remarks == ("film.mp4 is too large for me: it has 21 MiB, and I accept at most 20.",)


async def test_of_many_files_in_one_message_the_first_are_read() -> None:
    reader = Reader()
    taken = await intake(Shelf(), MemoryFileStore(), reader, per_message=2).take(LOBBY, [PHOTO] * 4, "1")
    assert [len(one.file.parts) for one in taken] == [1, 1, 0, 0]
    assert [one.remarks for one in taken[2:]] == [
        ("I accept at most 2 files with one message, so I did not look at receipt.jpg, receipt.jpg.",),
        (),
    ]
    assert len(reader.read_files) == 2


async def test_files_of_a_day_are_counted_once_each_for_their_conversation() -> None:
    taken_in = intake(Shelf(), MemoryFileStore(), per_day=2)
    for once in ("1", "1", "2"):  # the first event was taken again after a crash
        assert (await taken_in.take(LOBBY, [PHOTO], once))[0].remarks == ()
    (taken,) = await taken_in.take(LOBBY, [PHOTO], "3")
    assert "I look at 2 files a day here, and that limit is reached. Please send receipt.jpg" in taken.remarks[0]
    assert (await taken_in.take(Address("web", "attic"), [PHOTO], "3"))[0].remarks == ()


async def test_files_of_a_day_are_counted_for_their_person_in_all_conversations() -> None:
    taken_in, attic = intake(Shelf(), MemoryFileStore(), person_per_day=2), Address("web", "attic")
    for once, place in (("1", LOBBY), ("1", LOBBY), ("2", attic)):
        assert (await taken_in.take(place, [PHOTO], once, person="web:1"))[0].remarks == ()
    (taken,) = await taken_in.take(LOBBY, [PHOTO], "3", person="web:1")
    assert "I look at 2 files a day from you, and that limit is reached. Please send receipt.jpg" in taken.remarks[0]
    assert (await taken_in.take(LOBBY, [PHOTO], "4", person="web:2"))[0].remarks == ()


async def test_content_that_is_no_longer_kept_is_none() -> None:
    store = MemoryFileStore(FileBounds(total_bytes=30))
    taken_in = intake(Shelf(), store)
    (taken,) = await taken_in.take(LOBBY, [PHOTO], "1")
    await store.keep(b"x" * 30, "text/plain", conversation="web:attic")
    assert await taken_in.content(taken.file.parts[0].url) is None
