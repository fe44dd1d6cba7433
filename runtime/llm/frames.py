"""The frames between the gateway and the model's process: JSON, each after its length."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

from anyio.abc import AnyByteStream
from anyio.streams.buffered import BufferedByteReceiveStream
from msgspec.structs import replace

from runtime.core import errors
from runtime.core.json_text import plain_data
from runtime.llm.client import (
    CompletionRequest,
)

MAX_FRAME_BYTES = 64 * 1024 * 1024

_LENGTH = struct.Struct(">I")
_ERRORS = (
    errors.LLMUnavailable,
    errors.LLMRateLimited,
    errors.LLMRefused,
    errors.LLMKeyRefused,
    errors.LLMNotOffered,
    errors.LLMQuotaSpent,
    errors.ContextTooLong,
)
_KINDS: dict[str, type[errors.LLMError]] = {kind.__name__: kind for kind in _ERRORS}

Frame = Mapping[str, Any]


def packed(frame: Frame) -> bytes:
    """A frame in its sent form. Raises LLMRefused for one that is too large."""
    return _sized(json.dumps(frame, separators=(",", ":")).encode())


def packed_request(number: int, model: int, request: CompletionRequest) -> bytes:
    """The frame that asks a model. Raises LLMRefused for one that is too large."""
    recording = request.recording
    if recording is None:
        return packed({"ask": number, "model": model, "request": plain_data(request)})
    # Base64 has nothing to escape: 20 MiB would keep the loop for 80 ms.
    without = replace(request, recording=replace(recording, data=""))
    head, end, tail = json.dumps(
        {"ask": number, "model": model, "request": plain_data(without)}, separators=(",", ":")
    ).rpartition('"data":"')
    return _sized(b"".join([head.encode(), end.encode(), recording.data.encode("ascii"), tail.encode()]))


def _sized(data: bytes) -> bytes:
    if len(data) > MAX_FRAME_BYTES:
        raise errors.LLMRefused(f"A prompt of {len(data)} bytes is too large; at most {MAX_FRAME_BYTES} can be asked.")
    return _LENGTH.pack(len(data)) + data


class FrameReader:
    def __init__(self, stream: AnyByteStream) -> None:
        self._bytes = BufferedByteReceiveStream(stream)

    async def receive(self) -> Frame:
        """The next frame. Raises EndOfStream, IncompleteRead or BrokenResourceError when the other side has gone."""
        (size,) = _LENGTH.unpack(await self._bytes.receive_exactly(_LENGTH.size))
        frame: Frame = json.loads(await self._bytes.receive_exactly(size))
        return frame


def error_data(error: errors.LLMError) -> dict[str, Any]:
    data = {"kind": type(error).__name__, "text": str(error)}
    return data | ({"retry_after_s": error.retry_after_s} if isinstance(error, errors.LLMRateLimited) else {})


def error_from(data: Mapping[str, Any]) -> errors.LLMError:
    if data["kind"] == errors.LLMRateLimited.__name__:
        return errors.LLMRateLimited(data["text"], retry_after_s=data["retry_after_s"])
    return _KINDS[data["kind"]](data["text"])
