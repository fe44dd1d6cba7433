"""`parley fmt`: programs and talks laid out in one way."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.output.diagnosis import counted
from gateway.cli.output.terminal import BAD_INPUT, FAILED, note, plain_errors, say
from gateway.whole_files import replace_file
from runtime.core.errors import ConfigError, ParleyError
from runtime.core.near_names import file_advice
from runtime.language.diagnostics import Diagnostic, ProgramRejected, Span

_ENDINGS = (".pb", ".playbooks", ".test.md")
_NAMED = "Name a program, a talk file or a folder."
_NOT_ENTERED = ("node_modules", "__pycache__")


def fmt(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Programs, talk files, or folders that contain them (default: this folder)."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit code 1 if a file is not formatted.")
    ] = False,
) -> None:
    """Format programs and talks: headings, lists, blank lines. The meaning of a program stays the same.

    Exit codes: 0 done, 1 with --check if a file is not formatted, 2 a file is wrong; all others are still formatted.
    """
    import anyio

    with plain_errors():
        files = _layout_files(paths or [Path()])
    changed, wrong = 0, 0
    for path in files:
        try:
            content = path.read_bytes()
            new = anyio.run(laid_out, path, content).encode("utf-8")
            if new != content and not check:
                replace_file(path.resolve(), new)  # through a link, the file that it leads to
        except (ParleyError, OSError) as error:
            wrong += 1
            note(f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error))
            continue
        if new == content:
            continue
        changed += 1
        say(f"{'not formatted' if check else 'formatted'}  {path}")
    same = len(files) - changed - wrong
    say(f"{counted(changed, 'file')} {'to format' if check else 'formatted'}; {counted(same, 'file')} unchanged.")
    if wrong:
        raise typer.Exit(BAD_INPUT)
    if check and changed:
        raise typer.Exit(FAILED)


def _layout_files(paths: Sequence[Path]) -> list[Path]:
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
    from gateway.talks.parsing.document import formatted_talks
    from runtime.authoring.formatting import formatted_program
    from runtime.language.syntax.source import MAX_FILE_BYTES, TALKS, is_compiled

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
