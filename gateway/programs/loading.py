"""The programs of a gateway: found by the settings, compiled, and as a process serves them now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from gateway.extensions.extension import load_extensions
from gateway.inbound.commands import COMMANDS
from gateway.inbound.routing import Routes, build_routes, only
from gateway.packaged import packaged
from gateway.settings.tree import Settings
from runtime.execution.calls.remote import with_calls
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program

Value = TypeVar("Value")


class AsItIsNow(Mapping[str, Value]):
    """A mapping that is made anew whenever somebody looks."""

    def __init__(self, make: Callable[[], Mapping[str, Value]]) -> None:
        self._make = make

    def __getitem__(self, name: str) -> Value:
        return self._make()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._make())

    def __len__(self) -> int:
        return len(self._make())


class ServedPrograms(AsItIsNow[Program]):
    def __init__(self, programs: Mapping[str, Program]) -> None:
        super().__init__(lambda: self._programs)
        self.replace(programs)

    def replace(self, programs: Mapping[str, Program]) -> None:
        self._programs = dict(programs)


def routes_of(settings: Settings, files: Sequence[Path] = ()) -> Routes:
    """The table of routes: one program of `files`, else the settings' routes, else the tour. Raises ConfigError."""
    if files:
        return only(files)
    if settings.route:
        return build_routes(settings.route, platforms=settings.platform_names, reserved=COMMANDS)
    return only([packaged("examples/tour.pb")])


async def compile_routes(settings: Settings, routes: Routes) -> dict[str, Program]:
    """Compile every program of the table, by name, with the calls of extensions. Raises ProgramError."""
    return {name: await compile_one(settings, files) for name, files in routes.files.items()}


async def compile_one(settings: Settings, files: Sequence[Path]) -> Program:
    """Compile the files of one program, with the calls of extensions. Raises ProgramError."""
    result = await compile_program(
        files,
        lowerer=RulesLowerer(),
        cache_dir=settings.data_dir / "compiled",
        with_locks=settings.compiler == "auto",
    )
    return completed(settings, result.program)


def completed(settings: Settings, program: Program) -> Program:
    return with_calls(program, load_extensions(settings.extensions.modules).calls)
