"""The versions of programs that nodes served, kept in the database: a conversation at work ends on its own."""

from __future__ import annotations

import base64
import json
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable

from anyio import to_thread

from adapters.records import Records, readable, what_can_be_read
from runtime.core.clock import Clock
from runtime.core.errors import ProgramError
from runtime.language.pbasm.notation import read
from runtime.language.program import Program

VERSIONS_TABLE = "programs:versions"
"""When a version was taken up last: digest -> name and time, JSON."""

TEXTS_TABLE = "programs:texts"
"""The compiled texts of versions: digest -> PBAsm, compressed, in letters."""

KEPT = 20
"""The versions of one program that are kept, those that were taken up last."""

_READ = 8
"""The versions in memory that are not served."""


class KeptVersions:
    """See `runtime.sessions.versions.Versions`. `complete` adds the calls of extensions, which no text has."""

    def __init__(
        self, taken: Records, texts: Records, clock: Clock, complete: Callable[[Program], Program] = lambda one: one
    ) -> None:
        self._taken = taken
        self._texts = texts
        self._clock = clock
        self._complete = complete
        self._read: OrderedDict[str, Program] = OrderedDict()

    async def take_up(self, programs: Iterable[Program]) -> None:
        """These are served from now on. Raises StorageUnavailable."""
        for program in programs:
            text = await to_thread.run_sync(_packed, program.pbasm)
            await self._texts.put(program.digest, text)
            entry = {"name": program.name, "at": self._clock.now().timestamp()}
            await self._taken.put(program.digest, json.dumps(entry))
        await self._drop()

    async def find(self, digest: str, /) -> Program | None:
        if (known := self._read.get(digest)) is not None:
            return known
        text, entry = await self._texts.get(digest), await self._entry(digest)
        if text is None or entry is None:
            return None
        program = await to_thread.run_sync(_unpacked, text, entry[0])
        if program is None or program.digest != digest:
            return None
        self._read[digest] = program = self._complete(program)
        while len(self._read) > _READ:
            self._read.popitem(last=False)
        return program

    async def is_newer(self, digest: str, than: Program, /) -> bool:
        mine, other = await self._entry(than.digest), await self._entry(digest)
        return mine is not None and other is not None and other[1] > mine[1]

    async def _entry(self, digest: str) -> tuple[str, float] | None:
        return readable(digest, await self._taken.get(digest), taken_up)

    async def _drop(self) -> None:
        """Drop what is more than the bound."""
        by_name: dict[str, list[tuple[float, str]]] = {}
        for digest, (name, at) in what_can_be_read(await self._taken.all(), taken_up).items():
            by_name.setdefault(name, []).append((at, digest))
        for entries in by_name.values():
            for _, digest in sorted(entries, reverse=True)[KEPT:]:
                await self._taken.remove(digest)
                await self._texts.remove(digest)


def taken_up(entry: str) -> tuple[str, float]:
    """The program of a version, and when it was taken up last. Raises ValueError, TypeError and KeyError."""
    one = json.loads(entry)
    return str(one["name"]), float(one["at"])


def _packed(text: str) -> str:
    return base64.b85encode(zlib.compress(text.encode(errors="surrogatepass"))).decode()


def _unpacked(text: str, name: str) -> Program | None:
    """The program of a text; None where a later Parley does not read it any more."""
    try:
        return read(zlib.decompress(base64.b85decode(text)).decode(errors="surrogatepass"), name)
    except (ProgramError, ValueError, zlib.error):
        return None
