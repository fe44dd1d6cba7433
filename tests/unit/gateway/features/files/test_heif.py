"""Pictures of iPhones, decoded in the worker with the bounds of all pictures."""

import io
import random

import pytest
from PIL import Image
from pillow_heif import from_pillow

from gateway.features.files.node import WorkerReader
from gateway.features.files.reading import ReadLimits
from gateway.features.files.worker import pictures
from gateway.features.files.worker.limits import Found, NotRead
from gateway.features.files.worker.main import read_file

MEGABYTE = 1024 * 1024


def photo(width: int, height: int, *, turned: int | None = None) -> bytes:
    """A picture as an iPhone sends it, its left half red."""
    made = Image.new("RGB", (width, height), "blue")
    made.paste("red", (0, 0, width // 2, height))
    exif = Image.Exif()
    if turned is not None:
        exif[0x0112] = turned
    written = io.BytesIO()
    from_pillow(made).save(written, quality=50, exif=exif.tobytes())
    return written.getvalue()


async def shown(data: bytes, limits: ReadLimits | None = None) -> Image.Image:
    reader = WorkerReader({}) if limits is None else WorkerReader({}, limits)
    read = await reader.read(data, "application/octet-stream")
    assert read.media_type == "image/heic"
    (part,) = read.parts
    return Image.open(io.BytesIO(part.data))


async def remark(data: bytes, limits: ReadLimits | None = None) -> str:
    read = await (WorkerReader({}) if limits is None else WorkerReader({}, limits)).read(data, "image/heic")
    assert read.parts == ()
    (one,) = read.remarks
    return one.key


async def test_a_photo_of_an_iphone_becomes_jpeg_scaled_down_and_without_what_the_camera_wrote() -> None:
    made = await shown(photo(1600, 160))
    assert (made.format, made.size, dict(made.getexif())) == ("JPEG", (1568, 157), {})
    left, right = made.getpixel((100, 80)), made.getpixel((1400, 80))
    assert isinstance(left, tuple)
    assert isinstance(right, tuple)
    assert left[0] > 200 > right[0]


async def test_a_photo_is_turned_once_as_the_camera_says() -> None:
    made = await shown(photo(200, 100, turned=6))
    assert made.size == (100, 200)
    above, below = made.getpixel((50, 25)), made.getpixel((50, 175))
    assert isinstance(above, tuple)
    assert isinstance(below, tuple)
    assert above[0] > 200 > below[0]


async def test_a_photo_with_too_many_pixels_is_refused_before_it_is_decoded() -> None:
    assert await remark(photo(200, 100), ReadLimits(pixels=10_000)) == "too_many_pixels"
    whole = photo(64, 64)
    size = whole.index(b"ispe") + 8
    claimed = whole[:size] + (60_000).to_bytes(4, "big") * 2 + whole[size + 8 :]
    assert await remark(claimed) in ("too_many_pixels", "broken_picture")


async def test_a_photo_that_needs_more_memory_than_there_is_is_refused() -> None:
    limits = ReadLimits(memory_bytes=80 * MEGABYTE)
    assert await remark(photo(1600, 1200), limits) in ("too_much_memory", "broken_picture", "not_readable")


async def test_what_is_torn_or_written_over_is_a_sentence_and_no_more() -> None:
    whole, rng = photo(200, 100), random.Random(5)
    assert await remark(whole[: len(whole) // 2]) == "broken_picture"
    assert await remark(whole[:24]) == "broken_picture"
    for _ in range(3):
        hurt = bytearray(whole)
        for _ in range(30):
            hurt[rng.randrange(16, len(hurt))] = rng.randrange(256)
        read = await WorkerReader({}).read(bytes(hurt), "image/heic")
        assert read.parts or [one.key for one in read.remarks] in (["broken_picture"], ["not_readable"])


def test_without_the_extra_a_sentence_says_what_to_send(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "find_spec", lambda _name: None)
    assert not pictures.learn_heif()
    monkeypatch.delitem(Image.OPEN, pictures.FORMAT, raising=False)
    with pytest.raises(NotRead) as refused:
        read_file(photo(20, 20), "image/heic", Found(ReadLimits(cpu_s=100_000)))
    assert refused.value.key == "heif"
