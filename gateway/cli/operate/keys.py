"""`parley backup`: everything that a gateway keeps, as one file, and back. `parley setup keys`: the keys with
which content is encrypted where it is stored.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.operate.database import JsonOption, say_json, say_table, size, when, with_database
from gateway.cli.output.terminal import FAILED, ConfigOption, load_settings, note, plain_errors, say
from gateway.whole_files import replace_file
from runtime.core.errors import ConfigError, FileUnreadable

if TYPE_CHECKING:
    from collections import Counter

    from gateway.database import GatewayDatabase
    from gateway.settings.tree import Settings

_UNENCRYPTED = "(not encrypted)"

app = typer.Typer(help="Manage the keys that encrypt stored content.", no_args_is_help=True)


@app.command(short_help="Create a key and write it to the key file.")
def new(
    file: Annotated[Path | None, typer.Option("--file", help="The key file. Default: encryption.keys_file.")] = None,
    last: Annotated[
        bool, typer.Option("--last", help="Add it as the last key, for reading only, until all nodes have it.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Create a key and write it to the top of the key file; without a file, print it."""
    with plain_errors():
        from gateway.assembly.parts import made_key

        (key, line), path = made_key(), file or _keys_file(config)
        if path is None:
            say(line)
            note("Keep it where only the gateway can read it: as PARLEY_ENCRYPTION__KEYS, or in a file that")
            note("encryption.keys_file names. Without it, what it encrypts can never be read again.")
            return
        try:
            others = _written_with(path, line, last)
        except OSError as error:
            note(f"parley: {path} cannot be written ({error.strerror}); choose another file.")
            raise typer.Exit(FAILED) from error
    say(f"{path} has the key {key}, {'behind' if last and others else 'in front of'} {others} others.")
    note("Restart the gateway. Keep a copy of the file apart from the database's backups.")


@app.command("list", short_help="Show the keys and how much each one encrypts.")
def list_keys(as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """Show the keys and how much of the database each one encrypts."""

    async def ask(database: GatewayDatabase) -> tuple[Settings, Counter[str]]:
        from gateway.assembly.parts import rekeying_of

        return database.settings, await rekeying_of(database.connection).survey()

    with plain_errors():
        _say_counts(*with_database(config, ask, archived=False), as_json=as_json)


@app.command(short_help="Re-encrypt everything with the first key.")
def rotate(config: ConfigOption = None) -> None:
    """Re-encrypt everything with the first key, following the current settings. A gateway may be running.

    You can interrupt it at any time and run it again. The data stays complete throughout.
    """

    async def ask(database: GatewayDatabase) -> tuple[int, int, Settings, Counter[str]]:
        from gateway.assembly.parts import rekeying_of, renew_archive

        rekeying = rekeying_of(database.connection)
        changed, locked = await rekeying.run(), await renew_archive(database.connection, database.archive)
        await rekeying.rewrite()
        return changed, locked, database.settings, await rekeying.survey()

    with plain_errors():
        changed, locked, settings, found = with_database(config, ask)
        say(f"{changed} keys of the database were re-encrypted.")
        if locked:
            note(f"{locked} sessions in the archive cannot be opened; they were left as they are.")
        left = _say_counts(settings, found, as_json=False)
    if left or locked:
        raise typer.Exit(FAILED)


def _keys_file(config: Path | None) -> Path | None:
    """The file of the settings, which need not be there yet. Raises ConfigError."""
    try:
        return load_settings(config).encryption.keys_file
    except FileUnreadable as error:
        if error.key == "encryption.keys_file" and error.missing:
            return error.path
        raise


def _written_with(path: Path, line: str, last: bool) -> int:
    """Rewrite a file of keys with one more, and return the number of others."""
    from gateway.assembly.parts import key_ids

    text = path.read_text(encoding="utf-8") if path.exists() else ""
    others = len(key_ids(text, str(path)))
    whole = f"{text.rstrip()}\n{line}\n".lstrip() if last else f"{line}\n{text}"
    replace_file(path, whole.encode(), mode=0o600)
    return others


def _say_counts(settings: Settings, found: Counter[str], *, as_json: bool) -> int:
    """Print the number of entries under each key; returns the number under other keys than the first."""
    from gateway.assembly.parts import key_ids

    secret = settings.encryption.keys
    keys = key_ids("" if secret is None else secret.get_secret_value(), "encryption.keys")
    rows = []
    for number, id_ in enumerate([*keys, *sorted(set(found) - {*keys, ""})]):
        state = "missing" if id_ not in keys else "reading" if number else "writing and reading"
        rows.append((id_, str(found[id_]), state))
    rows.append((_UNENCRYPTED, str(found[""]), ""))
    if as_json:
        for id_, count, state in rows:
            say_json({"key": id_, "entries": int(count), "state": state})
    else:
        say_table(("KEY", "ENTRIES", "IS FOR"), rows)
    missing = sorted(set(found) - {*keys, ""})
    if missing:
        note(f"The keys {', '.join(missing)} are missing. Put them back into encryption.keys, after the others.")
    stale = sum(found[id_] for id_ in keys[1:])
    if stale:
        note("parley setup keys rotate re-encrypts everything that another key encrypts.")
    elif len(keys) > 1:
        note("The database needs only the first key. You can remove the others if no backup needs them.")
    return stale + sum(found[id_] for id_ in missing)


def backup(
    file: Annotated[Path, typer.Argument(help="The file to write, in place of one that is there, or to restore.")],
    restored: Annotated[bool, typer.Option("--restore", help="Restore the state from FILE.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Move the existing state aside, and restore.")] = False,
    config: ConfigOption = None,
) -> None:
    """Write everything that a gateway keeps to FILE, while it runs or not; or restore that, while none runs."""
    from gateway.assembly.parts import back_up, restore

    with plain_errors():
        if replace and not restored:
            raise ConfigError(
                "--replace is for --restore alone. A backup is written over a file that is there without it."
            )
        settings = load_settings(config)
        if restored:
            made = restore(settings, file, replace=replace)
            say(f"Restored {size(made.size)} as of {when(made.made_at)} UTC into {settings.data_dir}.")
            return
        made = back_up(settings, file)
    say(f"Wrote {file} with {size(made.size)}, as of {when(made.made_at)} UTC.")
    if settings.encryption.keys_file is not None or settings.encryption.keys:
        say("Encrypted content stays encrypted in it: keep the keys of [encryption] somewhere else.")
