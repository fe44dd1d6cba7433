"""Files that people send, read by nobody: what a model is given of them stands in the test."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from gateway.features.files.node import TakenFile
from runtime.core.address import Address
from runtime.core.files import FILE_URL, file_id
from runtime.core.message import Attachment, FilePart
from runtime.llm.client import VisionRecord


class ScriptedIntake:
    """Takes files by their names: `pictures` are given as they are, `texts` as what they say. `remarks` are told to who
    sends a file of that name. `point` is called before and after each file is taken."""

    def __init__(
        self,
        *,
        pictures: Sequence[str] = (),
        texts: dict[str, str] | None = None,
        remarks: dict[str, str] | None = None,
        point: Callable[[], object] = lambda: None,
    ) -> None:
        self.sight = VisionRecord()
        self._pictures = frozenset(pictures)
        self._texts = texts or {}
        self._remarks = remarks or {}
        self._point = point
        self.taken: list[str] = []
        self.kept: dict[str, bytes] = {}

    async def take(
        self, address: Address, files: Sequence[Attachment], once: str, /, *, person: str = ""
    ) -> list[TakenFile]:
        assert address.platform in ("test", "task")  # a task gets the files of an answer
        assert once
        return [self._taken(file) for file in files]

    def _taken(self, file: Attachment) -> TakenFile:
        self._point()
        self.taken.append(file.name)
        data = self._texts.get(file.name, file.name).encode()
        url = self._keep(b"whole " + data)
        parts = [FilePart("image", self._keep(data), len(data))] if file.name in self._pictures else []
        parts += [FilePart("text", self._keep(data), len(data))] if file.name in self._texts else []
        note = self._remarks.get(file.name, "")
        self._point()
        seconds = 3.0 if file.media_type.startswith("audio/") else None
        return TakenFile(replace(file, url=url, parts=tuple(parts), note=note), (note,) if note else (), seconds)

    def _keep(self, data: bytes) -> str:
        url = FILE_URL + file_id(data, "test/kept")
        self.kept[url] = data
        return url

    async def content(self, url: str, /) -> bytes | None:
        return self.kept.get(url)
