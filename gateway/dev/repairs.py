"""Repairs by `parley check --fix`: misspelt and misplaced settings, and secrets that others can read."""

from __future__ import annotations

import difflib
import re
import stat
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct

from gateway.settings.sources import flat, variable_name
from gateway.settings.tree import NAMED_TABLES, TABLES, keys, secret_keys
from gateway.whole_files import replace_file

_SECTION = re.compile(r"\s*\[([\w.-]+)\]\s*(#.*)?")
_KEY = re.compile(r"(\s*)([\w-]+)(\s*=.*)", re.DOTALL)
_PLAIN = re.compile(r"[\w.:/@+=-]+")


class Repair(Struct, frozen=True):
    """Something that is wrong, and what is done about it; `do` does it. Raises OSError."""

    what: str
    how: str
    do: Callable[[], None]


def repairs(folder: Path, toml: Path) -> list[Repair]:
    """What can be mended in the folder, whose settings are in the file `toml`, if that is there."""
    secrets = folder / ".env"
    found = [*_in_settings(toml, secrets)] if toml.is_file() else []
    if secrets.is_file() and stat.S_IMODE(secrets.stat().st_mode) & 0o077:
        found.append(
            Repair(f"{secrets} can be read by others", "only its owner can read it", partial(secrets.chmod, 0o600))
        )
    if (folder / ".git").exists():
        found += _not_ignored(folder)
    return found


def _in_settings(toml: Path, secrets: Path) -> Iterator[Repair]:
    """The repairs of a settings file, each of one line. A file that is no TOML has none."""
    text = toml.read_text(encoding="utf-8")
    try:
        values = flat(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return
    known, hidden = set(keys()), set(secret_keys())
    for number, key in _keys_of(text):
        if key in hidden and isinstance(values.get(key), str):
            name, value = variable_name(key), str(values[key])
            if "'" not in value and "\n" not in value:
                yield Repair(
                    f'{toml}:{number}: "{key}" is a secret and does not belong in this file',
                    f"it is moved to {secrets}, as {name}",
                    partial(_move, toml, number, secrets, name, value),
                )
        elif key not in known and not _is_free(key):
            near = _nearest(key, known)
            if near is not None:
                yield Repair(
                    f'{toml}:{number}: there is no setting "{key}"',
                    f'it is renamed to "{near}"',
                    partial(_rename, toml, number, near.rpartition(".")[2]),
                )


def _keys_of(text: str) -> Iterator[tuple[int, str]]:
    """The dotted key of each line that has one, by the number of the line. Lists of tables are left out."""
    section: str | None = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("[["):
            section = None
        elif head := _SECTION.fullmatch(line):
            section = head[1]
        elif section is not None and (match := _KEY.fullmatch(line)):
            yield number, f"{section}.{match[2]}" if section else match[2]


def _is_free(key: str) -> bool:
    above = key.rpartition(".")[0]
    return above in TABLES or above.rpartition(".")[0] in NAMED_TABLES


def _nearest(key: str, known: set[str]) -> str | None:
    """The known key of the same section that is meant, where one is near enough."""
    above = key.rpartition(".")[0]
    here = [one for one in known if one.rpartition(".")[0] == above]
    return next(iter(difflib.get_close_matches(key, here, n=1, cutoff=0.8)), None)


def _rename(toml: Path, number: int, name: str) -> None:
    lines = _lines(toml)
    lines[number - 1] = _KEY.sub(rf"\g<1>{name}\g<3>", lines[number - 1], count=1)
    replace_file(toml, "".join(lines).encode())


def _move(toml: Path, number: int, secrets: Path, name: str, value: str) -> None:
    """Put the value into `secrets` before it leaves the settings: a crash in between leaves it in both."""
    before = secrets.read_text(encoding="utf-8") if secrets.is_file() else ""
    if before and not before.endswith("\n"):
        before += "\n"
    shown = value if _PLAIN.fullmatch(value) else f"'{value}'"
    secrets.touch(mode=0o600)
    replace_file(secrets, f"{before}{name}={shown}\n".encode())
    lines = _lines(toml)
    lines[number - 1] = f"# {name} is in {secrets.name}.\n"
    replace_file(toml, "".join(lines).encode())


def _not_ignored(folder: Path) -> Iterator[Repair]:
    """Secrets and state that the repository does not leave out."""
    ignored = folder / ".gitignore"
    said = ignored.read_text(encoding="utf-8").split() if ignored.is_file() else []
    for name in (".env", ".parley/"):
        if (folder / name).exists() and not {name, name.rstrip("/"), f"/{name}"} & set(said):
            yield Repair(
                f"{name} can get into the repository", f"{ignored} leaves it out", partial(_add, ignored, name)
            )


def _add(ignored: Path, name: str) -> None:
    before = ignored.read_text(encoding="utf-8") if ignored.is_file() else ""
    replace_file(ignored, (before + ("" if not before or before.endswith("\n") else "\n") + f"{name}\n").encode())


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines(keepends=True)
