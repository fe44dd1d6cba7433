"""The versions of programs that nodes served, kept in the database: a conversation at work ends on its own. And roll
back: which version is served in the place of the one that a program's files have, until they change.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence

from anyio import to_thread
from msgspec import Struct, field

from adapters.records import ChangedTogether, Records, readable, what_can_be_read
from runtime.core.clock import Clock
from runtime.core.errors import ParleyError, ProgramError
from runtime.core.json_text import plain_data
from runtime.core.near_names import name_advice
from runtime.language.pbasm.notation import read
from runtime.language.program import Program

PINS_TABLE = "programs:pins"
"""The pins by the name of their program, JSON."""

PIN_NEWS = "{parley:programs}:pins"
"""The channel on which all nodes are told that there is another pin, or one less."""

SHOWN = 8
"""The letters of a digest that name a version to people."""

VERSIONS_TABLE = "programs:versions"
"""When a version was taken up last: digest -> name and time, JSON."""

TEXTS_TABLE = "programs:texts"
"""The compiled texts of versions: digest -> PBAsm, compressed, in letters."""

KEPT = 20
"""The versions of one program that are kept, those that were taken up last."""

_READ = 8
"""The versions in memory that are not served."""


class KeptVersions(Struct, frozen=True):
    """See `runtime.sessions.versions.ProgramVersions`. `_complete` adds the calls of extensions, which no text has."""

    _taken: Records
    _texts: Records
    _clock: Clock
    _complete: Callable[[Program], Program] = lambda one: one
    _read: OrderedDict[str, Program] = field(default_factory=OrderedDict)

    async def take_up(self, programs: Iterable[Program]) -> None:
        """These are served from now on. Raises StorageUnavailable."""
        for program in programs:
            packed = await to_thread.run_sync(zlib.compress, program.pbasm.encode(errors="surrogatepass"))
            await self._texts.put(program.digest, base64.b85encode(packed).decode())
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


def _unpacked(text: str, name: str) -> Program | None:
    """The program of a text; None where a later Parley does not read it any more."""
    try:
        return read(zlib.decompress(base64.b85decode(text)).decode(errors="surrogatepass"), name)
    except (ProgramError, ValueError, zlib.error):
        return None


class NoSuchVersion(ParleyError):
    """A version that is not kept, or that cannot be gone back to."""


class VersionPin(Struct, frozen=True):
    """`version` is served where the files have `instead_of`; both are digests. `by`: who wanted it, `at`: when, in
    seconds since 1970.
    """

    version: str
    instead_of: str
    by: str
    at: float


class KeptVersion(Struct, frozen=True):
    """A version of a program that is kept, and when a node took it up last, in seconds since 1970."""

    program: str
    digest: str
    at: float


class VersionPins(Struct, frozen=True):
    """The pins of all nodes. `_taken` has the versions that are kept, as `KeptVersions` writes them."""

    _pins: ChangedTogether
    _taken: Records
    _clock: Clock

    async def all(self) -> Mapping[str, VersionPin]:
        """The pins by program, also those whose program has other files by now."""
        return what_can_be_read(await self._pins.all(), lambda text: VersionPin(**json.loads(text)))

    async def in_force(self) -> Mapping[str, VersionPin]:
        """The pins by program; no node has loaded another version since."""
        every = await self.every()
        return {name: pin for name, pin in (await self.all()).items() if _newer(every, name, pin) is None}

    async def every(self) -> Sequence[KeptVersion]:
        """The versions of all programs, of each the one that was taken up last first."""
        taken = what_can_be_read(await self._taken.all(), taken_up)
        found = [KeptVersion(name, digest, at) for digest, (name, at) in taken.items()]
        return sorted(found, key=lambda one: (one.program, -one.at))

    async def kept(self, program: str) -> Sequence[str]:
        """The versions of a program that are kept, the one that was taken up last first."""
        return [one.digest for one in await self.every() if one.program == program]

    async def roll_back(self, program: str, version: str = "", by: str = "") -> str:
        """Have a version served, by the beginning of its digest, else the version before the current one.

        Returns its digest. Raises NoSuchVersion. The version of the files ends the pin.
        """
        every, pin = await self.every(), (await self.all()).get(program)
        kept = [one.digest for one in every if one.program == program]
        if not kept:
            advice = name_advice(program, sorted({one.program for one in every}), "" if every else "none is.")
            raise NoSuchVersion(f"No version of a program {program} is kept; {advice}")
        newest = served = kept[0]
        if pin is not None:
            changed = _newer(every, program, pin)
            newest, served = (pin.instead_of, pin.version) if changed is None else (changed, changed)
        fitting = [one for one in kept if one.startswith(version) and (version or one not in (newest, served))]
        if version and len(fitting) > 1:
            raise NoSuchVersion(f"Several versions of {program} begin with {version}.")
        if not fitting:
            known = ", ".join(one[:SHOWN] for one in kept)
            wanted = f"version {version}" if version else "earlier version"
            raise NoSuchVersion(f"There is no {wanted} of {program}. Kept are: {known}.")
        if fitting[0] == newest:
            await self._pins.remove(program)
        elif fitting[0] != served:
            new = VersionPin(fitting[0], newest, by, self._clock.now().timestamp())
            await self._pins.put(program, json.dumps(plain_data(new)))
        return fitting[0]

    async def drop(self, program: str, pin: VersionPin) -> None:
        """Take out a pin, unless there is another one by now."""
        await self._pins.change({program: (json.dumps(plain_data(pin)), None)})


def _newer(every: Sequence[KeptVersion], program: str, pin: VersionPin) -> str | None:
    """The version that files have got since a pin, as some node took it up; None where they have not changed."""
    other = (one for one in every if one.program == program and one.digest not in (pin.version, pin.instead_of))
    return next((one.digest for one in other if one.at > pin.at), None)


class PinnedPrograms:
    """The programs that one process serves by the pins. `read` has the programs as they were read from their files
    last.
    """

    def __init__(self, pins: VersionPins, versions: KeptVersions, read: Mapping[str, Program]) -> None:
        self._pins = pins
        self._versions = versions
        self.read = dict(read)

    async def served(self, read: Mapping[str, Program]) -> tuple[dict[str, Program], dict[str, VersionPin]]:
        """What is served where the files have `read`, and the pins that hold there."""
        programs, holding = dict(read), dict[str, VersionPin]()
        for name, pin in (await self._pins.all()).items():
            program = read.get(name)
            if program is None or program.digest != pin.instead_of:
                continue
            version = await self._versions.find(pin.version)
            if version is not None:
                programs[name], holding[name] = version, pin
        return programs, holding

    async def give_up(self, pins: Mapping[str, VersionPin]) -> None:
        for name, pin in pins.items():
            await self._pins.drop(name, pin)
