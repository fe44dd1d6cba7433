"""`parley backup` and `parley restore`: everything that a gateway keeps, as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.output.terminal import ConfigOption, load_settings, plain_errors, say


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write; an existing file is replaced.")],
    config: ConfigOption = None,
) -> None:
    """Write everything that a gateway keeps to FILE. The gateway may be running."""
    from gateway.assembly.parts import back_up
    from gateway.cli.operate.database import size, when

    with plain_errors():
        settings = load_settings(config)
        made = back_up(settings, file)
    say(f"Wrote {file} with {size(made.size)}, as of {when(made.made_at)} UTC.")
    if settings.encryption.keys_file is not None or settings.encryption.keys:
        say("Encrypted content stays encrypted in it: keep the keys of [encryption] somewhere else.")


def restore(
    file: Annotated[Path, typer.Argument(help="A file written by parley backup.")],
    replace: Annotated[bool, typer.Option("--replace", help="Move the existing state aside, and restore.")] = False,
    config: ConfigOption = None,
) -> None:
    """Restore the state from FILE. No gateway may be running."""
    from gateway.assembly import parts
    from gateway.cli.operate.database import size, when

    with plain_errors():
        settings = load_settings(config)
        made = parts.restore(settings, file, replace=replace)
    say(f"Restored {size(made.size)} as of {when(made.made_at)} UTC into {settings.data_dir}.")
