"""`parley doctor`: everything that `parley check` asks, and what can be mended here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.author.check import check
from gateway.cli.output.terminal import FAILED, ConfigOption, note, say

_WRONG, _MENDED = "✗", "✓"


def doctor(
    config: ConfigOption = None,
    fix: Annotated[bool, typer.Option("--fix", help="Fix what can be fixed.")] = False,
) -> None:
    """Find misspelt settings, and secrets that are misplaced or that others can read. Then check everything."""
    from gateway.dev.repairs import repairs

    toml = config or Path("parley.toml")
    found = repairs(Path(), toml)
    for one in found:
        if not fix:
            say(f"{_WRONG} {one.what}. With --fix {one.how}.")
            continue
        try:
            one.do()
        except OSError as error:
            note(f"parley: {error.filename} cannot be changed ({error.strerror}); check its permissions.")
            raise typer.Exit(FAILED) from error
        say(f"{_MENDED} {one.what}: {one.how}.")
    check(None, config, as_json=False)
    if found and not fix:
        raise typer.Exit(FAILED)
