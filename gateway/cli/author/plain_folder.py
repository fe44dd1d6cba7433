"""The files of `parley new --plain`, and what all of `parley new` says and writes."""

from __future__ import annotations

import os
import shutil
import sys
from functools import partial
from pathlib import Path

import typer

from gateway.cli.output.terminal import FAILED, note, plain_errors, say


def write_plain(directory: Path) -> None:
    """Write parley.toml with every setting, .env.example and a first program; nothing is overwritten."""
    from gateway.dev.folder import ENV_EXAMPLE
    from gateway.extensions.loading import load_extensions
    from gateway.extensions.templates import secrets_example, section_example
    from gateway.packaged import packaged

    with plain_errors():
        platforms = load_extensions(()).platforms.values()
    config = packaged("config/parley.toml").read_text(encoding="utf-8")
    files = {
        "parley.toml": config + "".join(map(section_example, platforms)),
        ".env.example": ENV_EXAMPLE + "".join(map(secrets_example, platforms)),
        "hello.pb": packaged("examples/hello.pb").read_text(encoding="utf-8"),
    }
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            write_new(directory / name, text)
    except OSError as error:
        note(f"parley: {directory} cannot be written ({error.strerror}); choose another directory.")
        raise typer.Exit(FAILED) from error
    say_next(directory)
    say("  cp .env.example .env    then put your model's key in it")
    say("  parley check            check that everything is in place")
    say("  parley run hello.pb     talk with it in the browser")


def say_next(folder: Path) -> None:
    """Begin the list of what comes next: the way to the folder, and to the command where the terminal has none."""
    say("\nNext:")
    command = Path(sys.executable).with_name("parley")
    if shutil.which(command.name) is None and command.exists():
        say(f'  export PATH="{command.parent}:$PATH"')
    if folder != Path():
        say(f"  cd {folder}")


def write_new(path: Path, text: str, *, mode: int = 0o666) -> bool:
    """Write a file that is not there, and say so; whether it was written. Raises OSError."""
    try:
        with open(path, "x", encoding="utf-8", opener=partial(os.open, mode=mode)) as file:
            file.write(text)
    except FileExistsError:
        say(f"kept     {path} (exists)")
        return False
    say(f"written  {path}")
    return True
