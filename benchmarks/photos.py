"""The cost of a photo for its worker and for the gateway: `python -m benchmarks.photos`."""

from __future__ import annotations

import io
import resource
import time

import anyio
from PIL import Image

from benchmarks.table import Row, show
from gateway.features.files.node import WorkerReader
from gateway.features.files.reading import Reading

WIDTH, HEIGHT = 4000, 3000
ROUNDS = 7


def photo() -> bytes:
    """A photo of 12 megapixels with some noise, turned by its camera: about 2 MB of JPEG."""
    size = (WIDTH, HEIGHT)
    colours = (Image.radial_gradient("L").resize(size), Image.linear_gradient("L").resize(size))
    image = Image.merge("RGB", (*colours, Image.effect_noise(size, 20)))
    exif = Image.Exif()
    exif[0x0112] = 6
    written = io.BytesIO()
    image.save(written, "JPEG", quality=92, exif=exif)
    return written.getvalue()


async def _costs_s(data: bytes) -> tuple[float, float, Reading]:
    """The least of the processor that a worker and this process take for one photo, in seconds."""
    reader = WorkerReader({})
    worker_s = own_s = float("inf")
    for _ in range(ROUNDS):
        before, begun_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.process_time()
        read = await reader.read(data, "image/jpeg")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        worker_s = min(worker_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        own_s = min(own_s, time.process_time() - begun_s)
    return worker_s, own_s, read


def _decoding_s(data: bytes) -> float:
    """The least that the library takes to decode the whole photo."""
    best = float("inf")
    for _ in range(ROUNDS):
        begun_s = time.process_time()
        with Image.open(io.BytesIO(data)) as image:
            image.load()
        best = min(best, time.process_time() - begun_s)
    return best


def run() -> list[Row]:
    """All figures."""
    data = photo()
    floor_s = _decoding_s(data)
    worker_s, own_s, read = anyio.run(_costs_s, data)
    assert read.parts
    return [
        Row("photo of 12 MP, of the worker's processor", worker_s, "s", floor_s, "decoding it whole", "< 0.4 s"),
        Row("the same, of the gateway's", own_s, "s", floor_s, "the same", "< 0.05 s"),
    ]


if __name__ == "__main__":
    print(show(run()))
