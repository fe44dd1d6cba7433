"""The kind and the length of a sound or a film, from its container. Nothing of it is decoded."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

_MAX_BOXES: Final = 200_000
_UNKNOWN: Final = (1 << 32) - 1
"""Of an MP4 or M4A (ISO 14496-12), in one piece or in fragments, as browsers record it."""

_SEGMENT, _INFO, _TRACKS, _TRACK, _CLUSTER, _GROUP = 0x18538067, 0x1549A966, 0x1654AE6B, 0xAE, 0x1F43B675, 0xA0
_SCALE, _DURATION, _TYPE, _TIMESTAMP, _SIMPLE_BLOCK, _BLOCK = 0x2AD7B1, 0x4489, 0x83, 0xE7, 0xA3, 0xA1
_HOLDERS: Final = (_SEGMENT, _INFO, _TRACKS, _TRACK, _CLUSTER, _GROUP)
_MOVES: Final = 1
_MAX_ELEMENTS: Final = 1_000_000

_OGG_HEAD: Final = 27
_OPUS_RATE: Final = 48_000
_MAX_PAGES: Final = 1_000_000

_MP3_KBITS: Final = {
    True: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    False: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""Bit rates of layer III, of MPEG-1 and of the later ones."""
_MP3_RATES: Final = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}
_AAC_RATES: Final = (96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000)
_AAC_SAMPLES: Final = 1_024


class _Times(Struct):
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


class Measured(Struct, frozen=True):
    """A sound or a film: its type, and how long it sounds in seconds; None where that cannot be told."""

    media_type: str
    seconds: float | None = None


def measure(data: bytes) -> Measured | None:
    """The sound or film that a file is; None for anything else."""
    found: Measured | None = None
    if data[4:8] == b"ftyp":
        found = Measured(*measure_mp4(data))
    elif data.startswith(b"\x1aE\xdf\xa3"):
        found = Measured(*measure_matroska(data))
    elif data.startswith(b"OggS"):
        found = _ogg(data)
    elif data[:4] == b"RIFF" and data[8:12] != b"WEBP":
        found = _wav(data) if data[8:12] == b"WAVE" else Measured("video/x-msvideo")
    elif data.startswith(b"fLaC"):
        found = Measured("audio/flac", _flac(data))
    elif data.startswith(b"ID3") or (data[:1] == b"\xff" and data[1:2] >= b"\xe0"):
        found = _frames(data)
    return found


def _ogg(data: bytes) -> Measured:
    """By the last complete page of the first track: each says how many samples have come by its end."""
    serial = data[14:18]
    packet = data[_OGG_HEAD + (data[26] if len(data) > 26 else 0) :][:64]
    if packet.startswith(b"\x80theora"):
        return Measured("video/ogg")
    if packet.startswith(b"OpusHead"):
        rate, skipped = _OPUS_RATE, int.from_bytes(packet[10:12], "little")
    elif packet.startswith(b"\x01vorbis"):
        rate, skipped = int.from_bytes(packet[12:16], "little"), 0
    elif packet.startswith(b"Speex   "):
        rate, skipped = int.from_bytes(packet[36:40], "little"), 0
    else:
        return Measured("audio/ogg")
    samples, at = 0, 0
    for _ in range(_MAX_PAGES):
        segments = data[at + 26] if at + _OGG_HEAD <= len(data) else 0
        ends = at + _OGG_HEAD + segments + sum(data[at + _OGG_HEAD : at + _OGG_HEAD + segments])
        if data[at : at + 4] != b"OggS" or ends > len(data):
            break
        granule = int.from_bytes(data[at + 6 : at + 14], "little", signed=True)
        if data[at + 14 : at + 18] == serial:
            samples = max(samples, granule)
        at = ends
    return Measured("audio/ogg", max(0, samples - skipped) / rate if rate else None)


def _wav(data: bytes) -> Measured:
    at, bytes_a_second = 12, 0
    while at + 8 <= len(data):
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        if name == b"fmt ":
            bytes_a_second = int.from_bytes(data[at + 16 : at + 20], "little")
        elif name == b"data":
            there = min(size, len(data) - at - 8)
            return Measured("audio/wav", there / bytes_a_second if bytes_a_second else None)
        at += 8 + size + size % 2
    return Measured("audio/wav")


def _flac(data: bytes) -> float | None:
    head = int.from_bytes(data[18:26], "big")
    rate, samples = head >> 44, head & ((1 << 36) - 1)
    return samples / rate if rate and samples else None


def _frames(data: bytes) -> Measured | None:
    """MP3 and AAC without a container: all frames are counted."""
    at = _behind_tag(data)
    seconds, kind = 0.0, ""
    while (at := data.find(b"\xff", at)) >= 0 and at + 7 <= len(data):
        frame = _mp3_frame(data, at) if kind != "audio/aac" else None
        found = "audio/mpeg"
        if frame is None and kind != "audio/mpeg":
            frame, found = _aac_frame(data, at), "audio/aac"
        if frame is None or (not kind and not _follows(data, at + frame[0])):
            at += 1
            continue
        kind = found
        at += frame[0]
        seconds += frame[1]
    if kind:
        return Measured(kind, seconds)
    return Measured("audio/mpeg") if data.startswith(b"ID3") else None


def _behind_tag(data: bytes) -> int:
    if not data.startswith(b"ID3"):
        return 0
    size = 0
    for byte in data[6:10]:
        size = size << 7 | byte & 0x7F
    return size + 10


def _follows(data: bytes, at: int) -> bool:
    """Whether another frame, a tag, or the end is there: two bytes that look like a frame are in any file."""
    return at >= len(data) or data[at] == 0xFF or data[at : at + 3] == b"TAG"


def _mp3_frame(data: bytes, at: int) -> tuple[int, float] | None:
    """The length of a frame of layer III in bytes and in seconds."""
    second, third = data[at + 1], data[at + 2]
    version, rates = second >> 3 & 3, _MP3_RATES.get(second >> 3 & 3)
    if second & 0xE6 != 0xE2 or rates is None or third >> 2 & 3 == 3 or third >> 4 in (0, 15):
        return None
    rate, kbits, samples = rates[third >> 2 & 3], _MP3_KBITS[version == 3][third >> 4], 1152 if version == 3 else 576
    return samples * kbits * 125 // rate + (third >> 1 & 1), samples / rate


def _aac_frame(data: bytes, at: int) -> tuple[int, float] | None:
    """The same of a frame of AAC (ADTS)."""
    if data[at + 1] & 0xF6 != 0xF0 or data[at + 2] >> 2 & 15 >= len(_AAC_RATES):
        return None
    size = (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5
    return (size, _AAC_SAMPLES / _AAC_RATES[data[at + 2] >> 2 & 15]) if size >= 7 else None


class _Film(Struct):
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
        size, name, head = _whole(data, at, 4), data[at + 4 : at + 8], 8
        if size == 1:
            size, head = _whole(data, at + 8, 8), 16
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
        elif name == b"trex" and _whole(data, start + 4, 4) == film.track:
            film.each = _whole(data, start + 12, 4)
        elif name == b"traf":
            _read_fragment(data, start, stop, film)


def _read_track(data: bytes, begin: int, end: int, film: _Film) -> None:
    number = scale = 0
    for name, start, stop in _boxes(data, begin, end, film):
        if name == b"tkhd":
            number = _whole(data, start + (20 if data[start : start + 1] == b"\1" else 12), 4)
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
        flags = _whole(data, start + 1, 3)
        if name == b"tfhd":
            if _whole(data, start + 4, 4) != film.track:
                return
            at = start + 8 + (8 if flags & 1 else 0) + (4 if flags & 2 else 0)
            each = _whole(data, at, 4) if flags & 8 else each
        elif name == b"trun":
            film.units += _samples(data, start, flags, each)


def _samples(data: bytes, start: int, flags: int, each: int) -> int:
    """The units that the samples of a run take."""
    count, at = _whole(data, start + 4, 4), start + 8 + (4 if flags & 1 else 0) + (4 if flags & 4 else 0)
    if not flags & 0x100:
        return count * each
    width = 4 * (flags >> 8 & 0xF).bit_count()
    return sum(_whole(data, at + width * number, 4) for number in range(min(count, (len(data) - at) // width)))


def _times(data: bytes, start: int) -> tuple[int, int]:
    """The units a second, and the length in units, of a header."""
    if data[start : start + 1] == b"\1":
        return _whole(data, start + 20, 4), _whole(data, start + 24, 8)
    length = _whole(data, start + 16, 4)
    return _whole(data, start + 12, 4), 0 if length == _UNKNOWN else length


def _whole(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")
