"""The lock file of a program's file: what a model made of each free step, readable, for git."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from runtime.language.diagnostics import Diagnostic, ProgramRejected, Span

SUFFIX = ".lock"
"""The lock of `pizza.pb` is `pizza.pb.lock`."""

_VERSION = 1
_HEAD = f"""\
# What a model made of the steps that no rule knows. `parley compile --lock` writes this file; keep it in git.
version = {_VERSION}
"""
_TEXTS = ("playbook", "text", "context", "model", "rules")


@dataclass(frozen=True, slots=True)
class LockedStep:
    """What a model made of one step. `playbook` is `Agent.Playbook`, `text` the author's words, and `context` the
    digest of what stands around them. A row of `pbasm` begins with the number below the step's own: `:CND Repeat 3
    times`, `.01:EXE Stir`, `.02:JMP @`, where `@` is the step itself. `rules` names the rules that left it free.
    `place` is where the entry stands in its file."""

    playbook: str
    text: str
    context: str
    pbasm: tuple[str, ...]
    model: str
    day: date
    rules: str
    place: Span = field(default_factory=lambda: Span("", 1), compare=False)

    @property
    def unused(self) -> Diagnostic:
        """The warning that the program has no such step any more."""
        return Diagnostic(
            f'nothing uses this entry for {self.playbook}: "{self.text[:60]}"',
            self.place,
            "[[step]]",
            "The step, or what stands around it, has changed. `parley compile --lock` writes the file again.",
            "warning",
        )


Locks = Mapping[str, Sequence[LockedStep]]
"""The locked steps by the program's file."""


NO_LOCKS: Locks = {}


def digest_of(parts: Iterable[str]) -> str:
    """A digest of texts and of where each of them ends."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part.encode(errors="surrogatepass"))
    return digest.hexdigest()


def lock_path(file: str | Path) -> Path:
    """Where the lock of a program's file is."""
    return Path(f"{file}{SUFFIX}")


def read_locks(files: Iterable[str]) -> Locks:
    """The locks beside these files. Raises ProgramRejected for one that cannot be read."""
    found = {}
    for file in files:
        path = lock_path(file)
        if path.is_file():
            found[file] = _read(path)
    return found


def _read(path: Path) -> tuple[LockedStep, ...]:
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
        if data.get("version") != _VERSION:
            raise ValueError(f"version is {data.get('version')!r}, and {_VERSION} is what this Parley reads")
        lines = [line for line, row in enumerate(text.split("\n"), 1) if row.startswith("[[step]]")]
        return tuple(_entry(row, Span(str(path), line)) for row, line in zip(data.get("step", ()), lines, strict=True))
    except (OSError, ValueError, TypeError, KeyError) as error:
        hint = "Delete the file, or write it again with `parley compile --lock`."
        wrong = Diagnostic(f"this lock cannot be read: {error}", Span(str(path), 1), "", hint)
        raise ProgramRejected([wrong]) from error


def _entry(row: Mapping[str, object], place: Span) -> LockedStep:
    texts = {key: row[key] for key in _TEXTS}
    rows, day = row["pbasm"], row["date"]
    if not all(isinstance(value, str) for value in texts.values()) or not isinstance(rows, list) or not rows:
        raise ValueError(f"line {place.line}: a step has {', '.join(_TEXTS)}, and pbasm, a list of lines")
    if not isinstance(day, date):
        raise ValueError(f"line {place.line}: date is a day, such as 2026-11-28")
    return LockedStep(pbasm=tuple(map(str, rows)), day=day, place=place, **{key: str(texts[key]) for key in _TEXTS})


def lock_text(steps: Sequence[LockedStep]) -> str:
    """The text of a lock file, in the order of the steps; "" where there are none."""
    return "\n".join((_HEAD, *map(_table, steps))) if steps else ""


def _table(step: LockedStep) -> str:
    rows = "".join(f"  {_quoted(row)},\n" for row in step.pbasm)
    return (
        f"[[step]]\nplaybook = {_quoted(step.playbook)}\ntext = {_quoted(step.text)}\npbasm = [\n{rows}]\n"
        f"context = {_quoted(step.context)}\nmodel = {_quoted(step.model)}\ndate = {step.day.isoformat()}\n"
        f"rules = {_quoted(step.rules)}\n"
    )


def _quoted(text: str) -> str:
    """A basic string of TOML, which is written as JSON's but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
