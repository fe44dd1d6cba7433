"""The length of an MP4 or M4A (ISO 14496-12), in one piece or in fragments, as browsers record it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_MAX_BOXES: Final = 200_000
_UNKNOWN: Final = (1 << 32) - 1


@dataclass(slots=True)
class _Film:
    """What the boxes say: seconds of the whole, units a second of the sound, and units in its fragments."""

    seconds: float = 0.0
    moves: bool = False
    sounds: bool = False
    scale: int = 0
    track: int = 0
    each: int = 0
    units: int = 0
    boxes: int = 0


def measure_mp4(data: bytes) -> tuple[str, float | None]:
    """The type, by whether there are pictures in it, and the seconds of its sound; None where they cannot be told."""
    film = _Film()
    _read(data, 0, len(data), film)
    if film.moves or not (film.sounds or data[8:11] == b"M4A"):
        return "video/mp4", None
    seconds = film.seconds or (film.units / film.scale if film.scale else 0.0)
    return ("audio/mp4", seconds) if film.sounds and seconds else ("audio/mp4", None)


def _boxes(data: bytes, begin: int, end: int, film: _Film) -> Iterator[tuple[bytes, int, int]]:
    """The boxes in a range: name, and where their content begins and ends."""
    at = begin
    while at + 8 <= end and film.boxes < _MAX_BOXES:
        film.boxes += 1
        size, name, head = _number(data, at, 4), data[at + 4 : at + 8], 8
        if size == 1:
            size, head = _number(data, at + 8, 8), 16
        elif size == 0:
            size = end - at
        if size < head:
            return
        yield name, at + head, min(at + size, end)
        at += size


def _read(data: bytes, begin: int, end: int, film: _Film) -> None:
    for name, start, stop in _boxes(data, begin, end, film):
        if name in (b"moov", b"mvex", b"moof"):
            _read(data, start, stop, film)
        elif name == b"trak":
            _read_track(data, start, stop, film)
        elif name == b"mvhd":
            scale, length = _times(data, start)
            film.seconds = length / scale if scale else 0.0
        elif name == b"trex" and _number(data, start + 4, 4) == film.track:
            film.each = _number(data, start + 12, 4)
        elif name == b"traf":
            _read_fragment(data, start, stop, film)


def _read_track(data: bytes, begin: int, end: int, film: _Film) -> None:
    number = scale = 0
    for name, start, stop in _boxes(data, begin, end, film):
        if name == b"tkhd":
            number = _number(data, start + (20 if data[start : start + 1] == b"\1" else 12), 4)
        elif name == b"mdia":
            for inner, at, _ in _boxes(data, start, stop, film):
                if inner == b"mdhd":
                    scale, _length = _times(data, at)
                elif inner == b"hdlr":
                    kind = data[at + 8 : at + 12]
                    film.moves = film.moves or kind == b"vide"
                    if kind == b"soun":
                        film.sounds, film.track, film.scale = True, number, scale


def _read_fragment(data: bytes, begin: int, end: int, film: _Film) -> None:
    each = film.each
    for name, start, _ in _boxes(data, begin, end, film):
        flags = _number(data, start + 1, 3)
        if name == b"tfhd":
            if _number(data, start + 4, 4) != film.track:
                return
            at = start + 8 + (8 if flags & 1 else 0) + (4 if flags & 2 else 0)
            each = _number(data, at, 4) if flags & 8 else each
        elif name == b"trun":
            film.units += _samples(data, start, flags, each)


def _samples(data: bytes, start: int, flags: int, each: int) -> int:
    """The units that the samples of a run take."""
    count, at = _number(data, start + 4, 4), start + 8 + (4 if flags & 1 else 0) + (4 if flags & 4 else 0)
    if not flags & 0x100:
        return count * each
    width = 4 * (flags >> 8 & 0xF).bit_count()
    return sum(_number(data, at + width * number, 4) for number in range(min(count, (len(data) - at) // width)))


def _times(data: bytes, start: int) -> tuple[int, int]:
    """The units a second, and the length in units, of a header."""
    if data[start : start + 1] == b"\1":
        return _number(data, start + 20, 4), _number(data, start + 24, 8)
    length = _number(data, start + 16, 4)
    return _number(data, start + 12, 4), 0 if length == _UNKNOWN else length


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")
