"""The length of a WebM or Matroska file (RFC 9559), also of one that a browser records without saying it."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

_SEGMENT, _INFO, _TRACKS, _TRACK, _CLUSTER, _GROUP = 0x18538067, 0x1549A966, 0x1654AE6B, 0xAE, 0x1F43B675, 0xA0
_SCALE, _DURATION, _TYPE, _TIMESTAMP, _SIMPLE_BLOCK, _BLOCK = 0x2AD7B1, 0x4489, 0x83, 0xE7, 0xA3, 0xA1
_HOLDERS: Final = (_SEGMENT, _INFO, _TRACKS, _TRACK, _CLUSTER, _GROUP)
_MOVES: Final = 1
_MAX_ELEMENTS: Final = 1_000_000


@dataclass(slots=True)
class _Times:
    """Nanoseconds of a unit, and units: as the head says, of the cluster, and of the last block."""

    scale: int = 1_000_000
    said: float = 0.0
    cluster: int = 0
    last: int = 0


def measure_matroska(data: bytes) -> tuple[str, float | None]:
    """The type, by whether there are pictures in it, and the seconds of its sound; None where they cannot be told.

    Elements that hold others are entered and never skipped, because a recorder does not know their sizes.
    """
    times, at = _Times(), 0
    for _ in range(_MAX_ELEMENTS):
        id_, begin = _element_id(data, at)
        size, begin = _size(data, begin)
        if begin > len(data) or not id_:
            break
        if id_ in _HOLDERS:
            at = begin
            continue
        if size is None:
            break
        if id_ == _TYPE and _number(data, begin, size) == _MOVES:
            return "video/webm", None
        _note(data, id_, begin, size, times)
        at = begin + size
    units = times.said or times.last
    return ("audio/webm", units * times.scale / 1e9) if units else ("audio/webm", None)


def _note(data: bytes, id_: int, begin: int, size: int, times: _Times) -> None:
    if id_ == _SCALE:
        times.scale = _number(data, begin, size)
    elif id_ == _DURATION and size in (4, 8) and begin + size <= len(data):
        (times.said,) = struct.unpack(">f" if size == 4 else ">d", data[begin : begin + size])
        times.said = times.said if 0 < times.said < 1e15 else 0.0
    elif id_ == _TIMESTAMP:
        times.cluster = _number(data, begin, size)
    elif id_ in (_SIMPLE_BLOCK, _BLOCK):
        _, behind = _size(data, begin)  # the track's number
        times.last = max(times.last, times.cluster + int.from_bytes(data[behind : behind + 2], "big", signed=True))


def _element_id(data: bytes, at: int) -> tuple[int, int]:
    """An element's id, 0 where there is none, and where what follows begins."""
    if at >= len(data) or not data[at]:
        return 0, at
    width = 9 - data[at].bit_length()
    return int.from_bytes(data[at : at + width], "big"), at + width


def _size(data: bytes, at: int) -> tuple[int | None, int]:
    """A size, None for one that is not known, and where what follows begins."""
    if at >= len(data) or not data[at]:
        return 0, len(data) + 1
    width = 9 - data[at].bit_length()
    value = int.from_bytes(data[at : at + width], "big") & ((1 << 7 * width) - 1)
    return (None if value == (1 << 7 * width) - 1 else value), at + width


def _number(data: bytes, begin: int, size: int) -> int:
    return int.from_bytes(data[begin : begin + min(size, 8)], "big")
