"""The files that `parley fmt` formats, and the format of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gateway.talks.formatting import formatted_talks
from runtime.core.errors import ConfigError
from runtime.core.near_names import file_advice
from runtime.language.diagnostics import Diagnostic, ProgramRejected, Span
from runtime.language.formatting.program import formatted_program
from runtime.language.syntax.source import MAX_FILE_BYTES, TALKS, is_compiled

_ENDINGS = (".pb", ".playbooks", TALKS)
_NAMED = "Name a program, a talk file or a folder."
_NOT_ENTERED = ("node_modules", "__pycache__")


def layout_files(paths: Sequence[Path]) -> list[Path]:
    """The files that are named, and the programs and talks in folders that are named. Raises ConfigError."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found |= dict.fromkeys(_below(path))
        elif not path.exists():
            raise ConfigError(f"{path}: there is no such file or folder. {file_advice(path, _ENDINGS, _NAMED)}")
        else:
            found[path] = None
    return list(found)


def _below(folder: Path) -> list[Path]:
    found: list[Path] = []
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_ENTERED)
        found += [Path(at, name) for name in sorted(files) if name.endswith(_ENDINGS)]
    return found


async def laid_out(path: Path, content: bytes) -> str:
    """The text of a program or of talks, laid out. Raises ProgramRejected where that cannot be done."""
    if path.name.endswith(TALKS):
        return formatted_talks(content, path)
    problem, hint = "", ""
    if is_compiled(path.name):
        problem, hint = "PBAsm is laid out by the compiler", "Name the program that it was compiled from."
    elif len(content) > MAX_FILE_BYTES:
        problem, hint = "this file is too big", f"A file may have {MAX_FILE_BYTES:,} bytes."
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        problem, hint = "this is not UTF-8 text", "Save it as UTF-8."
    if problem:
        raise ProgramRejected([Diagnostic(problem, Span(str(path), 1), hint=hint)])
    return await formatted_program(text, str(path))
