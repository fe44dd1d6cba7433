"""`parley usage`: what models were used and what they cost."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway.cli.operate.database import nothing_kept, say_json, say_table, with_database
from gateway.cli.output.terminal import ConfigOption, note, say
from runtime.core.json_text import plain_data

if TYPE_CHECKING:
    from gateway.database import GatewayDatabase
    from gateway.features.usage.ledger import Used
    from gateway.models.answers import ModelAmounts


app = typer.Typer(
    invoke_without_command=True, help="Show which models were used, what they cost, and how answers fared."
)


@app.callback(short_help="Show which models were used and what they cost.")
def usage(
    context: typer.Context,
    days: Annotated[int, typer.Option("--days", min=1, help="The number of days up to today (UTC).")] = 30,
    by: Annotated[
        Literal["day", "person", "program", "agent", "model", "purpose"],
        typer.Option("--by", help="The grouping of the sums."),
    ] = "day",
    json: Annotated[bool, typer.Option("--json", help="Print each sum as a JSON object on a line.")] = False,
    config: ConfigOption = None,
) -> None:
    """Show which models were used and what they cost, in US dollars."""
    if context.invoked_subcommand is not None:
        return
    from gateway.features.usage.ledger import grouped, ledger_in, prices_from, total
    from runtime.core.clock import SystemClock

    def asked(database: GatewayDatabase) -> Awaitable[Sequence[tuple[Used, ModelAmounts]]]:
        return ledger_in(database.connection, SystemClock()).rows(days)

    rows = [] if nothing_kept(config) else with_database(config, asked, archived=False)
    if json:
        for used, amounts in rows:
            say_json({**plain_data(used), "day": used.day.isoformat(), **plain_data(amounts)})
        return
    if not rows:
        say("No model answered in this period.")
        return
    head = (by.upper(), "ANSWERS", "TOKENS IN", "CACHED", "TOKENS OUT", "USD", "ESTIMATED", "UNPRICED")
    say_table(head, [_cells(name or "?", amounts) for name, amounts in [*grouped(rows, by), ("all", total(rows))]])
    note(f"Prices come from the settings, or else from {prices_from()}, as of each answer.")


def _cells(name: str, amounts: ModelAmounts) -> list[str]:
    counts = (amounts.answers, amounts.tokens_in, amounts.tokens_cached, amounts.tokens_out)
    usd = "unknown" if amounts.usd is None else f"{amounts.usd:,.4f}"
    return [name, *(f"{count:,}" for count in counts), usd, f"{amounts.estimated:,}", f"{amounts.unpriced:,}"]
