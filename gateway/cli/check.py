"""`parley check`: is everything in place?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from gateway.cli.terminal import FAILED, ConfigOption, load_settings, plain_errors, say
from runtime.core.errors import ParleyError

if TYPE_CHECKING:
    from gateway.parts import Probe
    from gateway.settings import Settings

_GOOD, _BAD, _OFF = "✓", "✗", "–"  # noqa: RUF001 - a mark, not a hyphen


def check(config: ConfigOption = None) -> None:
    """Check settings, model, Valkey, platforms and sandbox; exit code 1 if something is wrong."""
    import anyio

    with plain_errors():
        settings = load_settings(config)
    _show_settings(settings)
    if not anyio.run(_all_good, settings):
        raise typer.Exit(FAILED)


def _show_settings(settings: Settings) -> None:
    from gateway.settings import changed, environment_keys

    found = [f"{key}={value}" for key, value in changed(settings).items()]
    _line(_GOOD, "settings", ", ".join(found) or "all at their defaults")
    if provider_keys := environment_keys():
        _line(_GOOD, "keys", f"{', '.join(sorted(provider_keys))} in the environment")
    else:
        _line(_OFF, "keys", "no model provider's key in the environment")


async def _all_good(settings: Settings) -> bool:
    from rich.console import Console

    from gateway.parts import probes

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
