"""Reload: programs and settings are read again, and what is right of them is served from then on.

what asks ──> read the settings ──> compile each program ──> keep its version ──> serve it to what begins
(SIGHUP, /reload,     │ wrong             │ wrong                (or that of a pin)
 a saved file)        └── all stays ──────┴── this program stays ──> the log, and the owners, once
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import anyio
from msgspec import Struct, field
from msgspec.structs import replace
from watchfiles import Change, awatch

from gateway.inbound.routing import Routes
from gateway.programs.loading import ServedPrograms, compile_one, routes_of
from gateway.programs.versions import SHOWN, KeptVersions, PinnedPrograms, VersionPin
from gateway.settings.tree import Settings, keys, value_at
from runtime.bus import Bus
from runtime.core.background import ListenerList
from runtime.core.clock import Clock
from runtime.core.errors import ParleyError, StorageError
from runtime.core.message import Choice
from runtime.core.texts import Texts
from runtime.events import service as happened
from runtime.language.diagnostics import Span
from runtime.language.program import Program

_LIVE = re.compile(
    r"route|access\.(groups|pairing_minutes|open_requests)|limits\.(person|conversation)_\w+"
    r"|\w+\.(access|owners|allow_people|allow_groups|allow_chats|allow_spaces|visitors)"
)
"""The keys that can change: who may do what, where which program serves, and how much people may use."""

SETTINGS = "settings"
"""The name under which what is wrong with settings and routes is told."""

PROGRAM_NEWS = "{parley:programs}:news"
"""The channel on which all nodes are told that an owner wants a reload."""

_TOLD_EVERY_S = 3600
"""What several nodes find wrong with the same file in this time is told once."""

_TOGETHER_MS = 300
"""Files that are saved within this time are read together: an editor writes some of them twice."""

_STEP_MS = 50
_READ = frozenset({".pb", ".pbasm", ".md", ".py", ".toml", ".txt", ".env", ".lock"})


class Changes(Struct, frozen=True):
    """The keys that differ: those `in_force` after a reload, and those that `wait` for a restart."""

    in_force: tuple[str, ...] = ()
    wait: tuple[str, ...] = ()


def changes(old: Settings, new: Settings) -> Changes:
    """What differs between the settings at work and those that were read again."""
    differ = [key for key in keys(type(old)) if value_at(old, key) != value_at(new, key)]
    return Changes(
        tuple(key for key in differ if _LIVE.fullmatch(key)),
        tuple(key for key in differ if not _LIVE.fullmatch(key)),
    )


class TellOwners(Protocol):
    """See `OwnerNotices.tell`."""

    async def __call__(
        self, notice: str, key: str, choices: Sequence[Choice] = (), *, among: str = "", **values: object
    ) -> object: ...


class ProgramSet(Struct, frozen=True):
    """The source of settings and of programs, `files` of one or the routes of the settings; the programs that are
    served, the versions of them that are kept (None on a front), and those that were rolled back.
    """

    read: Callable[[], Settings]
    files: Sequence[Path]
    served: ServedPrograms
    versions: KeptVersions | None
    pinned: PinnedPrograms


class ReloadResult(Struct, frozen=True):
    """The result of a reload: the programs that are served in another version now, by name, what was wrong with others,
    and the settings that changed. `held` are those that were rolled back, with the version that is served."""

    programs: Sequence[str] = ()
    held: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    settings: Changes = field(default_factory=Changes)

    def told(self, texts: Texts, *, private: bool) -> str:
        """The answer to who asked for it. Where others read it, what is wrong stands in the log alone."""
        if self.refused and not private:
            return texts("reload.refused_here", programs=", ".join(self.refused))
        lines = [texts("reload.programs", programs=", ".join(self.programs))] if self.programs else []
        lines += [texts("reload.held", program=name, version=version) for name, version in self.held.items()]
        if self.settings.in_force:
            lines.append(texts("reload.in_force", keys=", ".join(self.settings.in_force)))
        if self.settings.wait:
            lines.append(texts("reload.waits", keys=", ".join(self.settings.wait)))
        for program, error in self.refused.items():
            lines.append(texts("reload.refused", program=program, error=error))
        return "\n".join(lines or [texts("reload.nothing")])


async def _not_looked_at(_: Sequence[Path]) -> None:
    """A program that can be compiled is served."""


class ProgramReloading(Struct, eq=False):
    """Reloads what one process serves. `check` raises ParleyError for programs and routes that cannot be served with
    the settings; `apply` puts changed settings into force."""

    _programs: ProgramSet
    _settings: Settings
    _routes: Routes
    _clock: Clock
    _bus: Bus
    _tell: TellOwners
    check: Callable[[Settings, Routes, Mapping[str, Program]], None] = lambda *_: None
    apply: Callable[[Settings], None] = lambda _: None
    look: Callable[[Sequence[Path]], Awaitable[None]] = _not_looked_at
    """Raises ProgramError for the files of a program that can be compiled, but is not to be served."""
    done: ListenerList[ReloadResult] = field(default_factory=ListenerList)
    """Told of every reload."""
    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    _refused: dict[str, str] = field(default_factory=dict)

    @property
    def files(self) -> Mapping[str, tuple[Path, ...]]:
        return self._routes.files

    @property
    def folders(self) -> set[Path]:
        """The folders of all files of the programs that are served, with those that they import."""
        named = {file for files in self._routes.files.values() for file in files}
        spans = {span.file for program in self._programs.served.values() for span in _spans(program)}
        found = {file.absolute().parent for file in (*named, *map(Path, spans))}
        return {folder for folder in found if folder.is_dir()}

    async def reload(self) -> ReloadResult:
        """Read all again. What is wrong stays as it was."""
        async with self._turn:
            try:
                done = await self._reload()
            except StorageError as error:
                self._bus.publish(happened.ProgramRefused(SETTINGS, str(error)))
                done = ReloadResult(refused={SETTINGS: str(error)})
            self.done.tell(done)
            return done

    async def _reload(self) -> ReloadResult:
        try:
            new = self._programs.read()
            routes = routes_of(new, self._programs.files)
            programs, refused = await self._compiled(new, routes)
            if any(name not in self._programs.served for name in refused):
                return await self._refuse(refused)
            read = {name: programs.get(name) or self._programs.pinned.read[name] for name in routes.files}
            self.check(new, routes, read)
            programs, held = await self._held(new, routes, read)
        except StorageError:
            raise
        except ParleyError as error:
            return await self._refuse({SETTINGS: str(error)})
        changed = await self._serve(programs)
        self._programs.pinned.read = read
        differ = changes(self._settings, new)
        self._routes.take(routes.routes)
        self.apply(new)
        self._settings = new
        for name in changed:
            self._bus.publish(happened.ProgramReloaded(name, programs[name].digest[:8]))
        if differ != Changes():
            self._bus.publish(happened.SettingsReloaded(list(differ.in_force), list(differ.wait)))
        versions = {name: pin.version[:SHOWN] for name, pin in held.items()}
        return await self._refuse(refused, ReloadResult(changed, versions, settings=differ))

    async def keep_to_pins(self) -> None:
        """Serve what was rolled back, and no longer what was until now; the files are not read."""
        async with self._turn:
            try:
                await self._keep_to_pins()
            except StorageError as error:
                self._bus.publish(happened.ProgramRefused(SETTINGS, str(error)))

    async def _keep_to_pins(self) -> None:
        programs, held = await self._held(self._settings, self._routes, self._programs.pinned.read)
        for name in await self._serve(programs):
            version, pin = programs[name].digest[:SHOWN], held.get(name)
            self._bus.publish(happened.ProgramRolledBack(name, version, "" if pin is None else pin.by))
            if pin is None:
                hour = int(self._clock.now().timestamp() // _TOLD_EVERY_S)
                await self._tell(f"forward.{version}.{hour}", "reload.rolled_forward", program=name, version=version)
            else:
                await self._tell(
                    f"rollback.{version}.{pin.at}", "reload.rolled_back", program=name, version=version, by=pin.by
                )

    async def _held(
        self, settings: Settings, routes: Routes, read: Mapping[str, Program]
    ) -> tuple[dict[str, Program], dict[str, VersionPin]]:
        """What is served where the files have `read`, and by which pins; one that cannot be served is given up."""
        programs, held = await self._programs.pinned.served(read)
        try:
            if held:
                self.check(settings, routes, programs)
        except StorageError:
            raise
        except ParleyError as error:
            await self._programs.pinned.give_up(held)
            for name in held:
                self._bus.publish(happened.ProgramRefused(name, f"it cannot be rolled back: {error}"))
            return dict(read), {}
        return programs, held

    async def _serve(self, programs: Mapping[str, Program]) -> list[str]:
        """Serve these from now on; the names of those that were served in another version."""
        changed = [name for name, one in programs.items() if _digest(self._programs.served.get(name)) != one.digest]
        if self._programs.versions is not None:
            await self._programs.versions.take_up(programs[name] for name in changed)
        same = {
            name: self._programs.served[name]
            for name, one in programs.items()
            if self._programs.served.get(name) == one
        }
        self._programs.served.replace({**programs, **same})
        return changed

    async def _compiled(self, settings: Settings, routes: Routes) -> tuple[dict[str, Program], dict[str, str]]:
        programs: dict[str, Program] = {}
        refused: dict[str, str] = {}
        for name, files in routes.files.items():
            try:
                program = await compile_one(settings, files)
                await self.look(files)
                programs[name] = program
            except ParleyError as error:
                refused[name] = str(error)
            except Exception as error:  # noqa: BLE001 - a file that nobody thought of must not end what is served
                refused[name] = f"it cannot be compiled ({error!r}); this is a fault of Parley."
        return programs, refused

    async def _refuse(self, refused: Mapping[str, str], done: ReloadResult | None = None) -> ReloadResult:
        """Say what is wrong: each time in the log, to the owners once."""
        for name, error in refused.items():
            self._bus.publish(happened.ProgramRefused(name, error))
            if self._refused.get(name) != error:
                known = hashlib.sha256(f"{name} {error}".encode()).hexdigest()[:16]
                hour = int(self._clock.now().timestamp() // _TOLD_EVERY_S)
                await self._tell(f"reload.{known}.{hour}", "reload.refused", program=name, error=error)
        self._refused = dict(refused)
        return replace(done or ReloadResult(), refused=dict(refused))


def _digest(program: Program | None) -> str:
    return "" if program is None else program.digest


def _spans(program: Program) -> Iterator[Span]:
    for agent in program.agents:
        yield agent.span
        yield from (fence.span for fence in agent.fences)
        for playbook in agent.playbooks:
            yield playbook.span
            yield from (step.span for step in playbook.walk_steps())


async def watch(reloading: ProgramReloading, bus: Bus, *beside: Path) -> None:
    """Reload whenever a file in a folder of the programs, or in one of those `beside`, is saved. Ends where the system
    cannot watch."""
    while True:
        folders = reloading.folders | set(beside)
        try:
            async for _ in awatch(
                *folders, watch_filter=_is_read, debounce=_TOGETHER_MS, step=_STEP_MS, recursive=False
            ):
                await reloading.reload()
                if reloading.folders | set(beside) != folders:
                    break
            else:
                return
        except OSError as error:
            bus.publish(happened.ProgramsUnwatched(str(error)))
            return


def _is_read(_change: Change, path: str) -> bool:
    file = Path(path)
    return file.suffix in _READ or file.name == ".env"
