"""`parley usage feedback`: what people think of the agents' answers."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway.cli.operate.database import nothing_kept, say_json, say_table, with_database
from gateway.cli.output.terminal import ConfigOption, say
from runtime.core.json_text import plain_data

if TYPE_CHECKING:
    from gateway.database import GatewayDatabase
    from gateway.features.feedback.ledger import Rated


def feedback(
    days: Annotated[int, typer.Option("--days", min=1, help="The number of days up to today (UTC).")] = 30,
    by: Annotated[
        Literal["day", "program", "step", "model"], typer.Option("--by", help="The grouping of the sums.")
    ] = "step",
    json: Annotated[bool, typer.Option("--json", help="Print each rating as a JSON object on a line.")] = False,
    config: ConfigOption = None,
) -> None:
    """Show how many thumbs up and thumbs down the agents' answers got."""
    from gateway.features.feedback.ledger import feedback_in, grouped
    from runtime.core.clock import SystemClock

    def asked(database: GatewayDatabase) -> Awaitable[Sequence[Rated]]:
        return feedback_in(database.connection, SystemClock()).rows(days)

    rows = [] if nothing_kept(config) else with_database(config, asked, archived=False)
    if json:
        for row in rows:
            say_json({**plain_data(row), "day": row.day.isoformat()})
        return
    if not rows:
        say("Nobody rated an answer in this period.")
        return
    down = sum(row.rating == "down" for row in rows)
    sums = [*grouped(rows, by), ("all", len(rows) - down, down)]
    say_table((by.upper(), "UP", "DOWN"), [[name or "?", f"{ups:,}", f"{downs:,}"] for name, ups, downs in sums])
