"""`parley fmt`: programs and talks laid out in one way."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.output.program_overview import counted
from gateway.cli.output.terminal import BAD_INPUT, FAILED, note, plain_errors, say


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

    from gateway.cli.author.layout import laid_out, layout_files
    from runtime.core.errors import ParleyError

    with plain_errors():
        files = layout_files(paths or [Path()])
    changed, wrong = 0, 0
    for path in files:
        try:
            content = path.read_bytes()
            new = anyio.run(laid_out, path, content).encode("utf-8")
            if new != content and not check:
                _write(path, new)
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


def _write(path: Path, content: bytes) -> None:
    """Replace a file at once, with the rights that it has; through a link, the file that it leads to."""
    target = path.resolve()
    beside = target.with_name(f".{target.name}.part")
    try:
        beside.write_bytes(content)
        beside.chmod(target.stat().st_mode & 0o7777)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
