"""`parley debug`: reports about failures that nobody caught, and trying again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.operate import database as shared
from gateway.cli.operate.letters import app as letters
from gateway.cli.output.terminal import FAILED, ConfigOption, load_settings, say
from runtime.core.json_text import plain_data

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.database import GatewayDatabase
    from gateway.features.reports.account import Account
    from gateway.features.reports.redis import Report, ReportStore
    from runtime.core.texts import Texts

NumberArgument = Annotated[int, typer.Argument(help="The report's number, as parley debug list shows it.")]

app = typer.Typer(help="Reports about failures that nobody caught, and dead letters.", no_args_is_help=True)
app.add_typer(letters, name="letters")


@app.command("list")
def list_reports(as_json: shared.JsonOption = False, config: ConfigOption = None) -> None:
    """Show the reports, the latest at the bottom."""
    reports = (
        [] if shared.nothing_kept(config) else shared.with_database(config, lambda database: _reports(database).all())
    )
    head = ("REPORT", "LAST (UTC)", "TIMES", "CONVERSATION", "WHERE", "ERROR", "DECIDED")
    shared.say_list(reports, "There are no reports.", head, _row, plain_data, as_json=as_json)


@app.command(short_help="Show what failed, the likely cause, and what to do.")
def show(number: NumberArgument, as_json: shared.JsonOption = False, config: ConfigOption = None) -> None:
    """Show what failed and where, what was executed before, the likely cause, and what to do."""

    async def ask(database: GatewayDatabase) -> tuple[Report, Account, str]:
        from gateway.features.reports.inquiry import guess_of

        report = await _found(database, number)
        return report, await _accounts(database, config).of(report), await guess_of(database.tapes, number)

    report, account, guess = shared.with_database(config, ask)
    if as_json:
        shared.say_json({**plain_data(report), **plain_data(account), "guess": guess})
        return
    say(f"report   {report.number}, {report.count} times, last at {_last(report)} UTC, in {report.conversation}")
    for line in account.lines():
        say(line)
    if guess:
        say(f"a model  guesses: {guess}")


@app.command(short_help="Try again from before the message that led to a failure.")
def again(number: NumberArgument, config: ConfigOption = None) -> None:
    """Take the conversation back to before the message that led to a failure, and process that message again."""
    _decide(number, "again", config)


@app.command()
def leave(number: NumberArgument, config: ConfigOption = None) -> None:
    """Leave a failure as it is."""
    _decide(number, "leave", config)


def _decide(number: int, what: str, config: Path | None) -> None:
    async def ask(database: GatewayDatabase) -> str:
        from gateway.features.reports.decisions import decisions_in
        from runtime.core.clock import SystemClock

        decisions = decisions_in(database, SystemClock())
        await _found(database, number)
        return await (decisions.again(number) if what == "again" else decisions.leave(number))

    outcome = shared.with_database(config, ask)
    say(_texts(config)(f"debug.is_{outcome}", number=number))
    if outcome == "gone":
        raise typer.Exit(FAILED)


def _reports(database: GatewayDatabase) -> ReportStore:
    from gateway.features.reports.redis import RedisReports

    return RedisReports(database.connection)


def _accounts(database: GatewayDatabase, config: Path | None) -> Any:
    from gateway.features.reports.account import Accounts
    from gateway.observability.watching import SecretMasking
    from gateway.settings.tree import secrets

    return Accounts(database.tapes, SecretMasking(secrets(load_settings(config))), _texts(config))


def _texts(config: Path | None) -> Texts:
    from runtime.core.texts import load_texts

    settings = load_settings(config)
    return load_texts(settings.language, settings.texts_dir)


async def _found(database: GatewayDatabase, number: int) -> Report:
    store = _reports(database)
    report = await store.get(number)
    if report is None:
        raise shared.missing("report", number, [one.number for one in await store.all()], "parley debug list")
    return report


def _row(report: Report) -> tuple[str, ...]:
    place = shared.shortened(report.place, 40)
    about = (str(report.number), _last(report), str(report.count), report.conversation, place)
    return (*about, report.error_type, report.decided)


def _last(report: Report) -> str:
    return shared.when(datetime.fromtimestamp(report.last_s, UTC))
