"""A voice message in Discord's form: how long it is, and its waveform. Pure.

https://docs.discord.com/developers/resources/message, Attachment Object and Message Flags: IS_VOICE_MESSAGE. One sound,
no text beside it, never edited.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from adapters.adapter import File

IS_VOICE_MESSAGE: Final = 1 << 13
MAX_POINTS: Final = 256
"""The points of a waveform; Discord's clients take one for each tenth of a second, up to these."""

_HEAD_BYTES: Final = 27
_SAMPLES_A_SECOND: Final = 48_000
_MAX_PAGES: Final = 100_000


@dataclass(frozen=True, slots=True)
class VoiceNote:
    """The length of a recording in seconds, and its waveform in Base64."""

    seconds: float
    waveform: str

    @property
    def form(self) -> dict[str, Any]:
        """What makes an attachment in the body of a posting call a voice message."""
        return {"duration_secs": round(self.seconds, 2), "waveform": self.waveform}


def voice_note(file: File) -> VoiceNote | None:
    """The file as a voice message; None unless it is Ogg with Opus.

    Nothing is decoded: Opus takes more bytes where more is to be heard, so the sizes of its packets are the waveform.
    """
    data = file.data
    if file.media_type != "audio/ogg" or data[28:36] != b"OpusHead":
        return None
    samples, sizes = 0, list[int]()
    for granule, packets in _pages(data):
        samples = max(samples, granule)
        sizes += packets
    seconds = max(0.0, (samples - int.from_bytes(data[38:40], "little")) / _SAMPLES_A_SECOND)
    return VoiceNote(seconds, _waveform(sizes[2:], seconds)) if seconds else None


def _pages(data: bytes) -> Iterator[tuple[int, list[int]]]:
    """Of each page, how many samples have come by its end, and the sizes of the packets that end in it."""
    at, open_bytes = 0, 0
    for _ in range(_MAX_PAGES):
        if data[at : at + 4] != b"OggS" or at + _HEAD_BYTES > len(data):
            return
        lacing = data[at + _HEAD_BYTES : at + _HEAD_BYTES + data[at + 26]]
        packets = []
        for size in lacing:
            open_bytes += size
            if size < 255:
                packets.append(open_bytes)
                open_bytes = 0
        yield int.from_bytes(data[at + 6 : at + 14], "little", signed=True), packets
        at += _HEAD_BYTES + len(lacing) + sum(lacing)


def _waveform(sizes: list[int], seconds: float) -> str:
    points = max(1, min(MAX_POINTS, round(seconds * 10), len(sizes)))
    groups = [sizes[len(sizes) * n // points : len(sizes) * (n + 1) // points] or [0] for n in range(points)]
    loudness = [sum(group) / len(group) for group in groups]
    loudest = max(loudness) or 1.0
    return base64.b64encode(bytes(round(255 * value / loudest) for value in loudness)).decode("ascii")
