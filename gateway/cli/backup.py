"""`parley backup` and `parley restore`: everything that a gateway keeps, as one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.output.terminal import ConfigOption, load_settings, plain_errors, say
from runtime.core.errors import ConfigError

if TYPE_CHECKING:
    from gateway.settings.tree import Settings

DataDirOption = Annotated[Path | None, typer.Option("--data-dir", help="The folder that keeps the state.")]
_OWN_SERVER = (
    "The database is a server of your own (redis_url), so back it up there, and the archive where it is. "
    "docs/backup.md says how."
)


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; one that exists is replaced.")],
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
) -> None:
    """Write everything that a gateway keeps into FILE, while it runs or not."""
    from gateway.cli.database import size, when
    from runtime.core.clock import SystemClock
    from runtime.storage.embedded.backup import write_backup

    with plain_errors():
        settings = _own(config, data_dir)
        made = write_backup(settings.data_dir, file, SystemClock().now())
    say(f"Wrote {file} with {size(made.size)}, as of {when(made.made_at)} UTC.")
    if settings.encryption.keys_file is not None or settings.encryption.keys:
        say("What is encrypted in it stays so: keep the keys of [encryption] somewhere else.")


def restore(
    file: Annotated[Path, typer.Argument(help="A file that parley backup has written.")],
    data_dir: DataDirOption = None,
    replace: Annotated[bool, typer.Option("--replace", help="Move away what is there, and restore.")] = False,
    config: ConfigOption = None,
) -> None:
    """Put the state in FILE back, while no gateway runs."""
    from gateway.cli.database import size, when
    from runtime.core.clock import SystemClock
    from runtime.storage.embedded.backup import restore_backup

    with plain_errors():
        settings = _own(config, data_dir)
        made = restore_backup(file, settings.data_dir, SystemClock().now(), replace=replace)
    say(f"Restored {size(made.size)} as of {when(made.made_at)} UTC into {settings.data_dir}.")


def _own(config: Path | None, data_dir: Path | None) -> Settings:
    """The settings of a gateway that keeps its state itself. Raises ConfigError."""
    settings = load_settings(config, {"data_dir": data_dir})
    if settings.redis_url is not None:
        raise ConfigError(_OWN_SERVER)
    return settings
