"""faster-whisper, as its README documents it: a recording says in bytes what becomes of it."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple


class Segment(NamedTuple):
    text: str


class TranscriptionInfo(NamedTuple):
    language: str
    duration: float


class WhisperModel:
    def __init__(
        self, model_size_or_path: str, *, device: str, compute_type: str, cpu_threads: int, local_files_only: bool
    ) -> None:
        assert local_files_only
        assert (device, compute_type) == ("cpu", "int8")
        assert cpu_threads >= 1
        assert (Path(model_size_or_path) / "model.bin").is_file()

    def transcribe(self, audio: BinaryIO, *, vad_filter: bool) -> tuple[Iterator[Segment], TranscriptionInfo]:
        """Segments come as they are made, while somebody takes them."""
        assert vad_filter
        what, _, rest = audio.read().decode().partition(":")
        if what == "broken":
            raise ValueError(rest)
        if what == "bomb":
            bytearray(8 * 1024**3)
        if what == "crash" and not Path(rest).exists():
            Path(rest).touch()
            os._exit(3)
        return self._segments(what, rest), TranscriptionInfo("en", 1.5)

    def _segments(self, what: str, rest: str) -> Iterator[Segment]:
        while what == "slow":
            time.sleep(0.02)
            yield Segment(" still")
        for word in rest.split():
            yield Segment(f" {word}")


def download_model(size_or_id: str, *, output_dir: str) -> str:
    if size_or_id == "medium":
        raise OSError("the Hub is away")
    for name in ("model.bin", "config.json", "tokenizer.json"):
        (Path(output_dir) / name).touch()
    return output_dir
