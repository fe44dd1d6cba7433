"""Roll back: which version of a program is served in the place of the one that its files have, until they change.

who asks ──> a pin in the database ──> every node is told, and reads it again when it starts ──> its version is served

A pin names two versions, and each node compares it with its own files. So nodes with old files and nodes with new ones
can serve side by side.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from adapters.records import ChangedTogether, Records, what_can_be_read
from gateway.programs.versions import KeptVersions, taken_up
from runtime.core.clock import Clock
from runtime.core.errors import ParleyError
from runtime.core.near_names import name_advice
from runtime.language.program import Program

PINS_TABLE = "programs:pins"
"""The pins by the name of their program, JSON."""

PIN_NEWS = "{parley:programs}:pins"
"""The channel on which all nodes are told that there is another pin, or one less."""

SHOWN = 8
"""The letters of a digest that name a version to people."""


class NoSuchVersion(ParleyError):
    """A version that is not kept, or that cannot be gone back to."""


@dataclass(frozen=True, slots=True)
class Pin:
    """`version` is served where the files have `instead_of`; both are digests. `by`: who wanted it, `at`: when, in
    seconds since 1970.
    """

    version: str
    instead_of: str
    by: str
    at: float


@dataclass(frozen=True, slots=True)
class Kept:
    """A version of a program that is kept, and when a node took it up last, in seconds since 1970."""

    program: str
    digest: str
    at: float


class Pins:
    """The pins of all nodes. `taken` has the versions that are kept, as `KeptVersions` writes them."""

    def __init__(self, pins: ChangedTogether, taken: Records, clock: Clock) -> None:
        self._pins = pins
        self._taken = taken
        self._clock = clock

    async def all(self) -> Mapping[str, Pin]:
        """The pins by program, also those whose program has other files by now."""
        return what_can_be_read(await self._pins.all(), lambda text: Pin(**json.loads(text)))

    async def in_force(self) -> Mapping[str, Pin]:
        """The pins by program; no node has loaded another version since."""
        every = await self.every()
        return {name: pin for name, pin in (await self.all()).items() if _newer(every, name, pin) is None}

    async def every(self) -> Sequence[Kept]:
        """The versions of all programs, of each the one that was taken up last first."""
        taken = what_can_be_read(await self._taken.all(), taken_up)
        found = [Kept(name, digest, at) for digest, (name, at) in taken.items()]
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
            new = Pin(fitting[0], newest, by, self._clock.now().timestamp())
            await self._pins.put(program, json.dumps(asdict(new)))
        return fitting[0]

    async def drop(self, program: str, pin: Pin) -> None:
        """Take out a pin, unless there is another one by now."""
        await self._pins.change({program: (json.dumps(asdict(pin)), None)})


def _newer(every: Sequence[Kept], program: str, pin: Pin) -> str | None:
    """The version that files have got since a pin, as some node took it up; None where they have not changed."""
    other = (one for one in every if one.program == program and one.digest not in (pin.version, pin.instead_of))
    return next((one.digest for one in other if one.at > pin.at), None)


class PinnedPrograms:
    """The programs that one process serves by the pins. `read` has the programs as they were read from their files
    last.
    """

    def __init__(self, pins: Pins, versions: KeptVersions, read: Mapping[str, Program]) -> None:
        self._pins = pins
        self._versions = versions
        self.read = dict(read)

    async def served(self, read: Mapping[str, Program]) -> tuple[dict[str, Program], dict[str, Pin]]:
        """What is served where the files have `read`, and the pins that hold there."""
        programs, holding = dict(read), dict[str, Pin]()
        for name, pin in (await self._pins.all()).items():
            program = read.get(name)
            if program is None or program.digest != pin.instead_of:
                continue
            version = await self._versions.find(pin.version)
            if version is not None:
                programs[name], holding[name] = version, pin
        return programs, holding

    async def give_up(self, pins: Mapping[str, Pin]) -> None:
        """Drop pins whose versions cannot be served."""
        for name, pin in pins.items():
            await self._pins.drop(name, pin)
