"""Files and voices of sessions, as features of their surroundings."""

from collections.abc import Sequence
from typing import Any

from gateway.features.files.describing import FileDescriber
from gateway.features.files.node import TakenFile, files_part, unlimited
from gateway.features.voice.node import voices_part
from runtime.bus import Bus
from runtime.core.address import Address
from runtime.core.errors import NotDelivered
from runtime.core.files import FileAccess, file_id
from runtime.core.message import Attachment
from runtime.execution.prompt.with_files import FileContents
from runtime.llm.client import LLMClient, VisionRecord
from runtime.sessions.features import NodePart


class Untouched:
    """Takes files as they come, and keeps none."""

    def __init__(self) -> None:
        self.sight = VisionRecord()

    async def take(
        self, address: Address, files: Sequence[Attachment], once: str, /, *, person: str = ""
    ) -> list[TakenFile]:
        return [TakenFile(file) for file in files]

    async def content(self, url: str, /) -> bytes | None:
        return None


class Kept:
    """The files of an intake, and those that agents send."""

    def __init__(self, contents: FileContents) -> None:
        self._contents = contents
        self.sent: list[tuple[bytes, str]] = []

    async def fetch(self, address: Address, attachment: Attachment, /, *, max_bytes: int) -> bytes:
        data = await self._contents.content(attachment.url)
        if data is None or len(data) > max_bytes:
            raise NotDelivered(f"{attachment.name} is gone from {address.key}")
        return data

    async def keep(self, data: bytes, media_type: str, address: Address, /) -> str:
        assert address.platform == "test"
        self.sent.append((data, media_type))
        return file_id(data, media_type)


def with_files(more: dict[str, Any], llm: LLMClient, bus: Bus) -> dict[str, Any]:
    """Fields of the surroundings where `files`, `intake`, `sight`, `describes`, `listener` and
    `speaker` are features."""
    files, intake, listener, speaker = (more.pop(key, None) for key in ("files", "intake", "listener", "speaker"))
    describes = more.pop("describes", False)
    if files is None and intake is None:
        return more
    takes = intake or Untouched()
    takes.sight = more.pop("sight", takes.sight)
    access: FileAccess = files or Kept(takes)
    describer = FileDescriber(llm, takes, more.get("allowance", unlimited), bus.publish, describes=describes)
    parts: list[NodePart] = [files_part(access, takes, describer)]
    if (intake, listener, speaker) != (None, None, None):
        parts.append(voices_part(access, listener, speaker))
    return {**more, "features": (*parts, *more.get("features", ()))}
