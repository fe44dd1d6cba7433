"""`parley usage feedback`: what people think of the agents' answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway.cli.operate.database import nothing_kept, say_json, say_table
from gateway.cli.output.terminal import ConfigOption, load_settings, plain_errors, say

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.features.feedback.ledger import Rated

_PATIENCE_S = 10.0


def feedback(
    days: Annotated[int, typer.Option("--days", min=1, help="The number of days up to today (UTC).")] = 30,
    by: Annotated[
        Literal["day", "program", "step", "model"], typer.Option("--by", help="The grouping of the sums.")
    ] = "step",
    json: Annotated[bool, typer.Option("--json", help="Print each rating as a JSON object on a line.")] = False,
    config: ConfigOption = None,
) -> None:
    """Show how many thumbs up and thumbs down the agents' answers got."""
    from gateway.features.feedback.ledger import grouped

    rows = [] if nothing_kept(config) else _rows(config, days)
    if json:
        for row in rows:
            say_json({**asdict(row), "day": row.day.isoformat()})
        return
    if not rows:
        say("Nobody rated an answer in this period.")
        return
    down = sum(row.rating == "down" for row in rows)
    sums = [*grouped(rows, by), ("all", len(rows) - down, down)]
    say_table((by.upper(), "UP", "DOWN"), [[name or "?", f"{ups:,}", f"{downs:,}"] for name, ups, downs in sums])


def _rows(config: Path | None, days: int) -> Sequence[Rated]:
    import anyio

    async def asked() -> Sequence[Rated]:
        from gateway.assembly.parts import open_storage
        from gateway.features.feedback.ledger import feedback_in
        from runtime.core.clock import SystemClock

        async with open_storage(load_settings(config), patience_s=_PATIENCE_S) as connection:
            return await feedback_in(connection, SystemClock()).rows(days)

    with plain_errors():
        return anyio.run(asked)
