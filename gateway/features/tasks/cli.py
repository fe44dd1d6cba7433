"""`parley tasks`: look at tasks, have their results, end them, order them again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from gateway.cli.operate.database import JsonOption, nothing_kept, say_json, say_list, shortened, when, with_database
from gateway.cli.output.terminal import FAILED, ConfigOption, note, say

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from gateway.database import GatewayDatabase
    from gateway.features.tasks.register import KnownTask, TaskRegister

Answer = TypeVar("Answer")
TaskArgument = Annotated[str, typer.Argument(help="The task's id, as parley tasks list shows it.")]

NOT_OVER = 3
"""The exit code of `result` for a task that is not over."""


app = typer.Typer(help="Tasks in the background: show them, end them, repeat them.", no_args_is_help=True)


@app.command("list")
def list_tasks(
    limit: Annotated[int, typer.Option("--limit", min=0, help="The number of tasks to show; 0 shows all.")] = 50,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Show the tasks that have started, the most recently active first."""
    none: tuple[list[KnownTask], bool] = ([], False)
    found, more = none if nothing_kept(config) else _with_register(config, lambda tasks: tasks.latest(limit))
    head = ("TASK", "DOES", "STATUS", "STARTED (UTC)", "LAST ACTIVE", "ORDERED BY", "NUMBER")
    say_list(found, "There are no tasks.", head, _row, lambda task: task.data(), as_json=as_json)
    if more:
        note(f"There are more than {limit}; --limit 0 shows all.")


@app.command()
def show(task: TaskArgument, as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """Show one task: what it does, for whom, and its progress."""
    found = _with_register(config, lambda tasks: tasks.find(task))
    data = {"task": task, "status": "submitted"} if found is None else found.data()
    if as_json:
        say_json(data)
        return
    for name, value in data.items():
        if value not in (None, ""):
            say(f"{name:<12} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")


@app.command(short_help="Print the result of a task.")
def result(
    task: TaskArgument,
    wait_s: Annotated[
        float, typer.Option("--wait", min=0, help="Wait up to so many seconds for a running task.")
    ] = 0.0,
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Print the result of a task.

    Exit codes: 0 printed, 1 the task has no result and will have none, 3 the task is not finished.
    """
    found = _with_register(config, lambda tasks: tasks.over(task, wait_s))
    if found is None or not found.over:
        note(f"parley: The task {task} is not finished: {'submitted' if found is None else found.status}.")
        raise typer.Exit(NOT_OVER)
    if found.status != "completed":
        why = f": {found.order.error}" if found.order.error else ""
        note(f"parley: The task {task} has no result; {found.status}{why}.")
        raise typer.Exit(FAILED)
    value = found.order.value
    say(value if isinstance(value, str) and not as_json else json.dumps(value, ensure_ascii=False))


@app.command()
def cancel(task: TaskArgument, config: ConfigOption = None) -> None:
    """Cancel a task and the tasks that it ordered."""
    _with_register(config, lambda tasks: tasks.cancel(task))
    say(f"The task {task} will end as soon as a gateway reads this.")


@app.command(short_help="Repeat a task.")
def retry(task: TaskArgument, config: ConfigOption = None) -> None:
    """Repeat a task for the same client or person. Prints the new task's id on standard output."""
    new, name = _with_register(config, lambda tasks: tasks.order_again(task))
    say(new)
    note(f"It is {name} of its conversation." if name else "A gateway begins it; parley tasks show says how far it is.")


def _with_register(config: Path | None, ask: Callable[[TaskRegister], Awaitable[Answer]]) -> Answer:
    def asked(database: GatewayDatabase) -> Awaitable[Answer]:
        from gateway.features.tasks.register import register_in
        from runtime.core.clock import SystemClock

        return ask(register_in(database, SystemClock()))

    return with_database(config, asked)


def _row(task: KnownTask) -> tuple[str, ...]:
    record, order = task.session.record, task.order
    does = shortened(f"{task.klass}.{task.playbook}")
    times = when(record.started_at), when(task.session.last_at)
    return record.id, does, task.status, *times, order.home.key, str(order.number or "")
