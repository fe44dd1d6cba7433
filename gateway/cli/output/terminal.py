"""Output and failures of the commands on a terminal."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runtime.core.errors import ConfigError, NoSuchTask, ParleyError, ProgramError, StorageUnavailable
from runtime.core.plain_text import visible

if TYPE_CHECKING:
    from gateway.settings.platforms import PlatformSettings
    from gateway.settings.tree import Settings

FAILED = 1
BAD_INPUT = 2
"""The exit code for a program or a setting that only its author can correct."""

_FULL = (errno.ENOSPC, errno.EDQUOT)

ConfigOption = Annotated[Path | None, typer.Option("--config", help="Settings file (default: ./parley.toml).")]

DATA_DIR: ContextVar[Path | None] = ContextVar("DATA_DIR", default=None)
"""The folder for the state that the command line names: an option of every command with settings."""


def say(text: str = "") -> None:
    """One line on standard output, at once. Others' texts in it steer no terminal."""
    typer.echo(visible(text))


def note(text: str) -> None:
    typer.echo(visible(text), err=True)


@contextmanager
def plain_errors() -> Iterator[None]:
    """End the command with the text of a Parley error, or about a full disk: code 2 for wrong input, else 1."""
    try:
        yield
    except ParleyError as error:
        raise _exit(error) from error
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise _exit(_no_space(error)) from error
    except BaseExceptionGroup as group:
        first = _first(group)
        if first is None:
            raise
        raise _exit(first) from group


def load_settings(config: Path | None, flags: dict[str, Any] | None = None) -> Settings:
    """The settings in force, with the sections of extensions. Raises ConfigError."""
    from gateway.settings.tree import load

    return load(config=config, flags={"data_dir": DATA_DIR.get(), **(flags or {})}, sections=_sections)


def quiet_logs(settings: Settings) -> dict[str, Any]:
    """The flag that logs warnings and errors alone, unless the settings name a level."""
    return {} if "level" in settings.logs.model_fields_set else {"logs.level": "warning"}


def _sections(modules: tuple[str, ...]) -> Mapping[str, type[PlatformSettings]]:
    """The sections that extensions add; what extensions may add to is loaded only where there is one."""
    from gateway.packaged import installed

    if not modules and not installed():
        return {}
    from gateway.extensions.extension import sections

    return sections(modules)


def _first(group: BaseExceptionGroup[BaseException]) -> ParleyError | None:
    """The first Parley error in a group; None when the group contains any other error, which must be shown in full.

    What could not be written because a disk is full counts as one.
    """
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    if group.split(_is_plain)[1] is not None:
        return None
    return found if isinstance(found, ParleyError) else _no_space(found)


def _is_plain(error: BaseException) -> bool:
    return isinstance(error, ParleyError) or (isinstance(error, OSError) and error.errno in _FULL)


def _no_space(error: BaseException) -> StorageUnavailable:
    return StorageUnavailable(
        f"A disk is full ({error}). Free some space where the data directory is, and where temporary files are "
        f"({tempfile.gettempdir()})."
    )


def _exit(error: ParleyError) -> typer.Exit:
    wrong_input = isinstance(error, ConfigError | ProgramError | NoSuchTask)
    text = str(error)
    note(text if ": error: " in text else f"parley: {text}")
    return typer.Exit(BAD_INPUT if wrong_input else FAILED)
