"""Access to the database and output on a terminal, shared by the commands that look after a database."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, TypeVar

import typer

from gateway.cli.output.terminal import DATA_DIR, load_settings, note, plain_errors, say
from runtime.core import plain_text
from runtime.core.errors import ConfigError
from runtime.core.near_names import file_advice, name_advice

if TYPE_CHECKING:
    from datetime import datetime

    from gateway.database import GatewayDatabase
    from gateway.settings.tree import Settings

Answer = TypeVar("Answer")
Found = TypeVar("Found")
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line, for machines.")]

_PATIENCE_S = 10.0
_SHOWN_CHARS = 60
_ANOTHER = "Name one that parley sessions export has written."
_NEAR = 500
"""The sessions among which the one is looked for that is probably meant."""


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A file to write, readable by its owner only, which takes its name once it is complete.

    Raises ConfigError where it cannot be written.
    """
    beside = path.with_name(f".{path.name}.part")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            yield file
        beside.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: it cannot be written: {error}") from error
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def standard_output() -> Iterator[TextIO]:
    yield sys.stdout
    sys.stdout.flush()


def with_database(
    config: Path | None, ask: Callable[[GatewayDatabase], Awaitable[Answer]], *, archived: bool = True
) -> Answer:
    """The result of `ask` on the storage of the settings, perhaps with their archive, which a gateway may be using
    meanwhile."""
    import anyio

    async def asked() -> Answer:
        import gateway.capabilities  # noqa: F401 - the facts of features
        from gateway.assembly.parts import open_archive, open_storage
        from gateway.database import GatewayDatabase

        settings = _kept_settings(config)
        opened = open_archive(settings) if archived else nullcontext()
        async with open_storage(settings, patience_s=_PATIENCE_S) as connection, opened as archive:
            return await ask(GatewayDatabase(settings, connection, archive))

    with plain_errors():
        return anyio.run(asked)


def nothing_kept(config: Path | None) -> bool:
    """Whether the data directory of the settings, their only storage, is still empty: no server has to start."""
    with plain_errors():
        settings = _kept_settings(config)
    if settings.redis_url is not None or settings.retention.archive_url is not None:
        return False
    return not any((settings.data_dir / name).exists() for name in ("appendonlydir", "archive.sqlite"))


def _kept_settings(config: Path | None) -> Settings:
    """The settings. Raises ConfigError where `--data-dir` names no folder: looking at it would create it."""
    settings, folder = load_settings(config), DATA_DIR.get()
    if folder is not None and settings.redis_url is None and not folder.exists():
        raise ConfigError(f"There is no state in {folder}: the folder does not exist.")
    if folder is None and settings.redis_url is None:
        _note_state_here(settings.data_dir)
    return settings


@cache
def _note_state_here(data_dir: Path) -> None:
    """Say that this folder has a state of `parley dev`, too, which is not the one that is looked at."""
    here = Path(".parley")
    if here.is_dir() and here.resolve() != data_dir.resolve():
        note(f"This is the state in {data_dir}. For that of parley dev and parley chat here, add --data-dir {here}")


def missing(what: str, wrong: object, known: Iterable[object], see: str) -> ConfigError:
    """The error about something that is not there, with the nearest that is."""
    return ConfigError(f"There is no {what} {wrong}; {name_advice(str(wrong), map(str, known), f'see {see}.')}")


async def no_session(database: GatewayDatabase, session: str) -> ConfigError:
    """The error about a session that is not there."""
    latest = await database.catalog.page(limit=_NEAR)
    return missing("session", session, [known.record.id for known in latest.sessions], "parley sessions list")


def checked_person(person: str, config: Path | None) -> str:
    """A person's id. Raises ConfigError for a text that is no such id."""
    names = load_settings(config).platform_names
    platform, _, rest = person.partition(":")
    if not rest or platform not in names:
        advice = name_advice(platform, names, f"write <platform>:<id>, with one of {', '.join(names)}.")
        raise ConfigError(f'"{person}" is not a person; {advice}')
    return person


def say_json(item: dict[str, Any]) -> None:
    say(json.dumps(item, ensure_ascii=False))


def say_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows under their headings, each column as wide as its longest cell."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row in (head, *rows):
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def say_list(
    found: Sequence[Found],
    none: str,
    head: Sequence[str],
    row: Callable[[Found], Sequence[str]],
    data: Callable[[Found], dict[str, Any]],
    *,
    as_json: bool,
) -> None:
    """Show what was found as JSON or as a table, or the words for nothing."""
    if as_json:
        for one in found:
            say_json(data(one))
    elif found:
        say_table(head, [row(one) for one in found])
    else:
        say(none)


def when(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}"


def size(count: int) -> str:
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def shortened(text: str, chars: int = _SHOWN_CHARS) -> str:
    return plain_text.shortened(" ".join(text.split()), chars)


def lines_of(file: Path) -> Iterator[str]:
    """The lines of a file. Raises ConfigError."""
    try:
        with file.open(encoding="utf-8") as opened:
            yield from opened
    except FileNotFoundError as error:
        raise ConfigError(f"There is no file {file}. {file_advice(file, (file.suffix,), _ANOTHER)}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: it cannot be read: {error}") from error
