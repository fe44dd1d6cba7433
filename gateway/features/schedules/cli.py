"""`parley schedule`: the schedules of the settings and of conversations, and how their runs ended."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from gateway.cli.operate.database import JsonOption, missing, say_list, shortened, when, with_database
from gateway.cli.output.terminal import ConfigOption, load_settings, plain_errors, say
from runtime.core.json_text import plain_data

if TYPE_CHECKING:
    from gateway.database import GatewayDatabase
    from gateway.features.schedules.cron import CronEntry
    from gateway.features.schedules.redis import ScheduleRun
    from runtime.stores.inbox import InboxEvent

NameArgument = Annotated[str, typer.Argument(help="The schedule's name, as parley schedule list shows it.")]

app = typer.Typer(help="Schedules: when they run, and how their runs ended.", no_args_is_help=True)


@app.command("list")
def list_schedules(as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """Show all schedules with their last and their next run."""
    head = ("NAME", "WHEN", "NEXT (UTC)", "LAST (UTC)", "ENDED", "TOOK", "TEXT")
    say_list(_entries(config), "Nothing is scheduled.", head, _row, _data, as_json=as_json)


@app.command()
def runs(name: NameArgument, as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """Show the latest runs of a schedule, the newest at the bottom."""
    entry = _named(name, _entries(config))
    head = ("DUE (UTC)", "ENDED", "TOOK", "SESSION")
    say_list(
        *(entry.runs, f"{name} has not run.", head),
        lambda run: (_due(run), *_ended(run), _where(run)),
        plain_data,
        as_json=as_json,
    )


@app.command("run", short_help="Run a schedule now, in addition to its times.")
def run_now(
    name: NameArgument,
    program: Annotated[
        list[Path] | None, typer.Argument(help="The program's files, if parley run was started with files.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Run a schedule now, in addition to its times. A running gateway starts it at once."""

    async def ask(database: GatewayDatabase) -> bool:
        from gateway.features.schedules.cron import begin_run
        from gateway.features.schedules.redis import RedisRuns
        from runtime.core.clock import SystemClock

        entry, now = _named(name, await _all(database, config)), SystemClock().now()
        event = entry.event(now) or _event_of_settings(entry, program or [], config)
        if not event.program:
            event = replace(event, program=await _served_last(database))
        return await begin_run(entry, event, RedisRuns(database.connection), database.inbox)

    with_database(config, ask)
    say(f"{name} runs now. parley schedule runs {name} shows how it ends.")


@app.command()
def pause(name: NameArgument, config: ConfigOption = None) -> None:
    """Pause a schedule until it is resumed."""
    _pause(name, config, paused=True)
    say(f"{name} is paused. parley schedule resume {name} continues it.")


@app.command()
def resume(name: NameArgument, config: ConfigOption = None) -> None:
    """Resume a paused schedule."""
    _pause(name, config, paused=False)
    say(f"{name} runs at its times.")


def _pause(name: str, config: Path | None, *, paused: bool) -> None:
    async def ask(database: GatewayDatabase) -> None:
        from gateway.features.schedules.redis import RedisRuns

        entry = _named(name, await _all(database, config))
        await RedisRuns(database.connection).pause(entry.key, paused=paused)

    with_database(config, ask)


def _entries(config: Path | None) -> list[CronEntry]:
    return with_database(config, lambda database: _all(database, config))


async def _all(database: GatewayDatabase, config: Path | None) -> list[CronEntry]:
    from gateway.features.schedules.cron import all_schedules
    from gateway.features.schedules.redis import RedisRuns, RedisSchedules
    from runtime.core.clock import SystemClock

    own, store = load_settings(config).cron, RedisSchedules(database.connection)
    return await all_schedules(own, store, RedisRuns(database.connection), SystemClock().now())


def _event_of_settings(entry: CronEntry, programs: list[Path], config: Path | None) -> InboxEvent:
    """The event of a schedule of the settings. Where these name no program, the gateway's own is meant."""
    from gateway.features.schedules.cron import build_schedules
    from gateway.programs.loading import routes_of
    from runtime.core.clock import SystemClock

    with plain_errors():
        settings = load_settings(config)
        made = build_schedules(settings.cron, routes_of(settings, programs))
    event = next(one for one in made if one.own.name == entry.name).event(SystemClock().now())
    names_one = programs or settings.route or any(one.name == entry.name and one.program for one in settings.cron)
    return event if names_one else replace(event, program="")


def _named(name: str, entries: list[CronEntry]) -> CronEntry:
    found = next((entry for entry in entries if entry.name == name), None)
    if found is None:
        with plain_errors():
            raise missing("schedule", name, [entry.name for entry in entries], "parley schedule list")
    return found


def _row(entry: CronEntry) -> tuple[str, ...]:
    last = entry.runs[-1] if entry.runs else None
    coming = "paused" if entry.paused else when(entry.next_at)
    past = ("", "", "") if last is None else (_due(last), *_ended(last))
    return entry.name, shortened(entry.when, 40), coming, *past, shortened(entry.text, 40)


def _due(run: ScheduleRun) -> str:
    return when(datetime.fromtimestamp(run.due_s, UTC))


def _ended(run: ScheduleRun) -> tuple[str, str]:
    """How a run ended, and how long it took."""
    took = "" if run.ended_s is None or run.status == "skipped" else f"{run.ended_s - run.at_s:.1f} s"
    return f"{run.status}: {run.why}" if run.why else run.status, took


def _where(run: ScheduleRun) -> str:
    return f"{run.session}:{run.seq}" if run.session else ""


def _data(entry: CronEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "when": entry.when,
        "text": entry.text,
        "conversation": entry.address.key,
        "next": entry.next_at.isoformat(),
        "paused": entry.paused,
        "last": plain_data(entry.runs[-1]) if entry.runs else None,
    }


async def _served_last(database: GatewayDatabase) -> str:
    """The program that a gateway took up last; "" where none has."""
    from adapters.records import what_can_be_read
    from gateway.assembly.stores import records_in
    from gateway.programs.versions import VERSIONS_TABLE, taken_up

    taken = what_can_be_read(await records_in(database.connection, VERSIONS_TABLE).all(), taken_up)
    return max(taken.values(), key=lambda one: one[1], default=("", 0.0))[0]
