"""`parley programs`: the versions of programs that are kept, and going back to one of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from gateway.cli.operate.database import JsonOption, nothing_kept, say_list, when, with_database
from gateway.cli.output.terminal import ConfigOption, say

if TYPE_CHECKING:
    from gateway.database import GatewayDatabase
    from gateway.programs.versions import KeptVersion, VersionPin, VersionPins

Answer = TypeVar("Answer")

NameArgument = Annotated[str, typer.Argument(help="The program, as parley programs list shows it.")]

_SHOWN = 8

app = typer.Typer(help="Show the versions of programs, and roll back to one.", no_args_is_help=True)


@app.command("list")
def list_versions(as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """Show the kept versions of all programs, the latest of each at the top."""

    async def ask(pins: VersionPins) -> tuple[Sequence[KeptVersion], Mapping[str, VersionPin]]:
        return await pins.every(), await pins.in_force()

    kept, pins = ([], {}) if nothing_kept(config) else _with_pins(config, ask)
    rows = [
        (one.program, one.digest, when(datetime.fromtimestamp(one.at, UTC)), _standing(one, pins.get(one.program)))
        for one in kept
    ]
    say_list(
        *(rows, "No versions of programs are kept.", ("PROGRAM", "VERSION", "SERVED LAST (UTC)", "")),
        lambda row: (row[0], row[1][:_SHOWN], *row[2:]),
        lambda row: dict(zip(("program", "version", "served_last", "standing"), row, strict=True)),
        as_json=as_json,
    )


@app.command()
def rollback(
    name: NameArgument,
    version: Annotated[
        str, typer.Argument(help="The version, or its beginning. Default: the version before the current one.")
    ] = "",
    config: ConfigOption = None,
) -> None:
    """Go back to an earlier version of a program until its file changes. A running gateway does so at once."""

    async def ask(pins: VersionPins) -> str:
        return await pins.roll_back(name, version, "parley programs")

    digest = _with_pins(config, ask, tell=True)
    say(f"{name} now runs in version {digest[:_SHOWN]}. Current conversations finish with their old version.")


def _standing(one: KeptVersion, pin: VersionPin | None) -> str:
    if pin is None:
        return ""
    if one.digest == pin.version:
        return f"rolled back to, by {pin.by}"
    return "in the file" if one.digest == pin.instead_of else ""


def _with_pins(config: Path | None, ask: Callable[[VersionPins], Awaitable[Answer]], *, tell: bool = False) -> Answer:
    """The result of `ask`; `tell`: all nodes look at what is rolled back after it."""

    async def asked(database: GatewayDatabase) -> Answer:
        from gateway.assembly.stores import news_by, pins_in
        from gateway.programs.versions import PIN_NEWS
        from runtime.core.clock import SystemClock

        found = await ask(pins_in(database.connection, SystemClock()))
        if tell:
            await news_by(database.connection, "parley programs", PIN_NEWS)()
        return found

    return with_database(config, asked, archived=False)
