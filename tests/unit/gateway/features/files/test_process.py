"""The workers that decode files: whatever a file does to its worker, the host goes on."""

import resource
import subprocess
import sys
from pathlib import Path
from typing import Literal

import anyio
import pytest

from gateway.features.files.node import WorkerReader
from gateway.features.files.reading import FileRemark, ReadLimits
from tests.fakes.documents import pdf_bomb, pdf_of_itself, picture, pixel_bomb, word

ROOT = Path(__file__).parents[4]
MEGABYTE = 1024 * 1024


def grown_to() -> int:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


async def test_files_come_back_with_their_types_and_parts() -> None:
    reader = WorkerReader({})
    photo = await reader.read(picture(3000, 200), "text/plain")
    assert photo.media_type == "image/jpeg"
    assert [(part.kind, part.page) for part in photo.parts] == [("image", 0)]
    assert photo.parts[0].data.startswith(b"\xff\xd8\xff")
    letter = await reader.read(word("Dear Ada"), "application/zip")
    assert [part.data for part in letter.parts] == [b"Dear Ada"]


async def test_a_file_that_is_not_read_has_a_remark_with_its_values() -> None:
    read = await WorkerReader({}).read(pixel_bomb(), "image/png")
    assert read.parts == ()
    assert read.remarks == (FileRemark("too_many_pixels", {"width": 60_000, "height": 60_000, "megapixels": 100}),)


async def test_a_file_that_needs_more_memory_than_there_is_for_it_is_refused() -> None:
    limits = ReadLimits(pixels=10**11, memory_bytes=512 * MEGABYTE)
    read = await WorkerReader({}, limits).read(pixel_bomb(), "image/png")
    assert (read.parts, [remark.key for remark in read.remarks]) == ((), ["too_much_memory"])


@pytest.mark.parametrize(("where", "twice"), [("page", False), ("page", True), ("font", False)])
async def test_a_pdf_that_unpacks_without_end_is_refused_and_the_host_does_not_grow(
    where: Literal["page", "font"], twice: bool
) -> None:
    bomb = pdf_bomb(where, twice=twice)
    reader, before = WorkerReader({}, ReadLimits(memory_bytes=256 * MEGABYTE)), grown_to()
    read = await reader.read(bomb, "application/pdf")
    assert len(bomb) < MEGABYTE
    assert [remark.key for remark in read.remarks] in (["not_readable"], ["too_much_memory"], ["broken_document"])
    assert grown_to() - before < 64 * MEGABYTE


async def test_a_pdf_whose_pages_are_below_themselves_is_read_to_its_end() -> None:
    read = await WorkerReader({}).read(pdf_of_itself(), "application/pdf")
    assert [part.kind for part in read.parts] in ([], ["text"])


async def test_a_worker_that_dies_or_takes_too_long_is_a_remark() -> None:
    dies = ReadLimits(memory_bytes=16 * MEGABYTE)
    slow = ReadLimits(whole_s=0.0)
    for limits in (dies, slow):  # a smaller picture fits at times into memory that the process has already
        read = await WorkerReader({}, limits).read(picture(400, 300), "image/jpeg")
        assert (read.parts, [remark.key for remark in read.remarks]) == ((), ["not_readable"])


async def test_there_is_a_jail_around_a_worker_where_the_machine_has_one() -> None:
    code = (
        "from runtime.sandbox.landlock import LIBRARIES, enclose; enclose(LIBRARIES); print(open('/etc/hosts').read())"
    )
    tried = await anyio.run_process([sys.executable, "-c", code], cwd=ROOT, check=False, stderr=subprocess.PIPE)
    has_one = b"PermissionError" in tried.stderr
    reader = WorkerReader({})
    assert (await reader.read(b"a,b", "text/csv")).media_type == "text/csv"
    assert reader.jailed is has_one
