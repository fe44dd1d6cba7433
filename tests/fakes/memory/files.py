"""Files in memory. Implements the port `runtime.core.files.FileStore`."""

from msgspec import Struct

from runtime.core.files import FileBounds, FileContent, FileHead, check_size, file_id


class _Kept(Struct, frozen=True):
    content: FileContent
    person: str | None
    conversation: str | None
    owner: str

    @property
    def size(self) -> int:
        return len(self.content.data)


class MemoryFileStore:
    """Keeps the latest files within `bounds`."""

    def __init__(self, bounds: FileBounds | None = None) -> None:
        self.bounds = bounds or FileBounds()
        self._files: dict[str, _Kept] = {}

    async def keep(
        self, data: bytes, media_type: str, /, *, person: str | None = None, conversation: str | None = None
    ) -> str:
        check_size(data)
        id_ = file_id(data, media_type)
        before = self._files.pop(id_, None)
        owner = before.owner if before is not None else person or conversation or ""
        if conversation is None and before is not None and before.conversation is not None:
            person, conversation = before.person, before.conversation
        self._count(id_, _Kept(FileContent(media_type, data), person, conversation, owner))
        return id_

    async def attach(self, id_: str, conversation: str, /) -> None:
        kept = self._files.pop(id_, None)
        if kept is not None:
            self._count(id_, _Kept(kept.content, None, conversation, kept.owner))

    def _count(self, id_: str, kept: _Kept) -> None:
        self._files[id_] = kept
        if kept.conversation is not None:
            whose = [one for one, file in self._files.items() if file.conversation == kept.conversation]
            self._drop(whose, self.bounds.conversation_bytes)
        elif kept.person is not None:
            whose = [
                one for one, file in self._files.items() if (file.person, file.conversation) == (kept.person, None)
            ]
            self._drop(whose, self.bounds.person_bytes)
        while sum(file.size for file in self._files.values()) > self.bounds.total_bytes and len(self._files) > 1:
            del self._files[min(list(self._files)[:-1], key=self._rank)]

    def _rank(self, id_: str) -> tuple[int, bool, int]:
        """The file that goes first has the least."""
        file = self._files[id_]
        owned = sum(one.size for one in self._files.values() if one.owner == file.owner)
        return -owned, file.conversation is not None, list(self._files).index(id_)

    def _drop(self, ids: list[str], bound: int) -> None:
        """Forget the first of these files until they are within the bound; the latest of all stays."""
        latest, total = next(reversed(self._files)), sum(self._files[one].size for one in ids)
        for one in ids:
            if total > bound and one != latest:
                total -= self._files.pop(one).size

    async def head(self, id_: str, /) -> FileHead | None:
        kept = self._files.get(id_)
        return None if kept is None else FileHead(kept.content.media_type, kept.size)

    async def content(self, id_: str, /) -> FileContent | None:
        kept = self._files.get(id_)
        return None if kept is None else kept.content
