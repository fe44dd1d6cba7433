"""`parley check`: is everything in place, or are these programs right?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.output.diagnosis import checked
from gateway.cli.output.program_overview import counted, overview
from gateway.cli.output.terminal import (
    BAD_INPUT,
    FAILED,
    ConfigOption,
    extension_calls,
    load_settings,
    plain_errors,
    say,
)
from runtime.core.errors import ConfigError, ParleyError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gateway.assembly.probes import Probe
    from gateway.settings.tree import Settings

_GOOD, _BAD, _OFF = "✓", "✗", "–"  # noqa: RUF001 - a mark, not a hyphen


def check(
    program: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files of one program. Then only that program is checked, offline (exit code 2 if it is wrong)."
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the problems in PROGRAM as JSON, for editors.")
    ] = False,
) -> None:
    """Check settings, model, Valkey, platforms and sandbox; exit code 1 if something is wrong."""
    import anyio

    if program:
        if not _right(program, _extension_calls(config), as_json=as_json):
            raise typer.Exit(BAD_INPUT)
        return
    with plain_errors():
        settings = load_settings(config)
    _show_settings(settings)
    if not anyio.run(_all_good, settings):
        raise typer.Exit(FAILED)


def _extension_calls(config: Path | None) -> Collection[str]:
    """The calls that extensions add for programs. None are known where the settings cannot be read; programs can still
    be checked.
    """
    try:
        return extension_calls(load_settings(config))
    except ConfigError:
        return ()


def _right(program: Sequence[Path], calls: Collection[str], *, as_json: bool) -> bool:
    """Whether a program can be used. Prints its errors, its probable mistakes and its summary."""
    found, result = checked(program, calls)
    if as_json:
        say(json.dumps([one.as_json() for one in found], indent=2, ensure_ascii=False))
        return result is not None
    for one in found:
        say(one.render())
    if result is not None:
        named = " and ".join(str(path) for path in program)
        warnings = f" with {counted(len(found), 'warning')}" if found else ""
        say(f"{_GOOD} {named}: valid{warnings}. {overview(result.program)}")
    return result is not None


def _show_settings(settings: Settings) -> None:
    from gateway.settings.tree import changed, environment_keys

    found = [f"{key}={value}" for key, value in changed(settings).items()]
    _line(_GOOD, "settings", ", ".join(found) or "all at their defaults")
    if provider_keys := environment_keys():
        _line(_GOOD, "keys", f"{', '.join(sorted(provider_keys))} in the environment")
    else:
        _line(_OFF, "keys", "no model provider's key in the environment")


async def _all_good(settings: Settings) -> bool:
    from rich.console import Console

    from gateway.assembly.probes import probes

    good = True
    for probe in await probes(settings):
        with Console(stderr=True).status(f"asking {probe.name}"):
            mark, text = await _answer(probe)
        _line(mark, probe.name, text)
        good = good and mark != _BAD
    return good


async def _answer(probe: Probe) -> tuple[str, str]:
    try:
        answer = None if probe.ask is None else await probe.ask()
    except ParleyError as error:
        return _BAD, " ".join(str(error).split())
    except TimeoutError:
        return _BAD, "no answer in time; check its address and the network"
    return (_OFF, f"not set up; {probe.note}") if answer is None else (_GOOD, answer)


def _line(mark: str, name: str, text: str) -> None:
    first, *more = text.split("\n")
    say(f"{mark} {name:<9} {first}")
    for line in more:
        say(f"{'':<11} {line}")
