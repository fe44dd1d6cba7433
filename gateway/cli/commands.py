"""The commands and the options of all of them. Imports nothing heavy: `parley --help` answers at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from gateway.cli.author.check import check
from gateway.cli.author.compile import compile_programs
from gateway.cli.author.dev import chat, dev
from gateway.cli.author.exec import exec_program
from gateway.cli.author.fmt import fmt
from gateway.cli.author.lsp import lsp
from gateway.cli.author.new import new
from gateway.cli.author.talks import hold_talks
from gateway.cli.operate.access import app as access
from gateway.cli.operate.keys import app as keys
from gateway.cli.operate.keys import backup
from gateway.cli.operate.programs import app as programs
from gateway.cli.operate.sessions.commands import app as sessions
from gateway.cli.output.terminal import DATA_DIR, note
from gateway.cli.run import run
from gateway.cli.setup import app as setup
from gateway.features.feedback.cli import feedback
from gateway.features.reports.cli import app as debug
from gateway.features.schedules.cli import app as schedule
from gateway.features.tasks.cli import app as tasks
from gateway.features.usage.cli import app as usage
from gateway.version import VERSION

GROUPS = {
    "Write": ("new", "dev", "chat", "check", "test", "compile", "fmt"),
    "Run": ("run", "exec", "backup"),
    "Look": ("sessions", "tasks", "programs", "usage", "debug"),
    "Manage": ("access", "schedule", "setup"),
}
"""The commands by what somebody wants to do, in the order of the help. Editors start one more, `lsp`."""

OLD_NAMES = {
    "doctor": "check",
    "init": "new --plain",
    "standby": "run --role standby",
    "bus": "run --role bus",
    "tape": "run --role tape",
    "dlq": "debug letters",
    "cron": "schedule",
    "invite": "access invite",
    "restore": "backup --restore",
    "keys": "setup keys",
    "feedback": "usage feedback",
    "slack manifest": "setup slack",
    "discord invite": "setup discord",
    "voice download": "setup voice",
}
"""Commands of the version before this one, with what they are now. The next version does not know them."""

_WORDS_OF_THE_PROGRAM = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}


def _note_data_dir(context: typer.Context, folder: Path | None) -> None:
    if folder is not None:
        token = DATA_DIR.set(folder)
        context.call_on_close(lambda: DATA_DIR.reset(token))


def _example(
    data_dir: Annotated[
        Path | None,
        typer.Option(
            "--data-dir", callback=_note_data_dir, expose_value=False, help="The folder that keeps the state."
        ),
    ] = None,
) -> None:
    """Take the option of every command with settings."""


def _with_data_dir(command: Any, option: Any) -> None:
    """Give a command that reads settings the option, and each command of a group."""
    for one in getattr(command, "commands", {}).values():
        _with_data_dir(one, option)
    if any(param.name == "config" for param in command.params):
        command.params.append(option)


class _Grouped(TyperGroup):
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        made = typer.Typer(add_completion=False)
        made.command()(_example)
        _with_data_dir(self, get_command(made).params[0])

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # typer keeps their types to itself
        """Write a section for each group, whose columns stand below each other."""
        widest = max(map(len, self.commands))
        for title, names in GROUPS.items():
            rows = [(name.ljust(widest), self.commands[name].get_short_help_str(limit=100)) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows)


app = typer.Typer(
    name="parley",
    cls=_Grouped,
    help="Run agents written in natural language and talk with them in the browser and on chat platforms.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # in colour it would cost more than all the rest of the help
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"parley {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Run agents written in natural language and talk with them in the browser and on chat platforms."""


app.command()(run)
app.command(short_help="Run a program while you write it.")(dev)
app.command(short_help="Talk with a program in the terminal.")(chat)
app.command("compile", short_help="Show PROGRAM as PBAsm, or what is wrong with it.")(compile_programs)
app.command("exec", short_help="Execute PROGRAM once.", context_settings=_WORDS_OF_THE_PROGRAM)(exec_program)
app.command("test", short_help="Run talks with programs, and report differences.")(hold_talks)
app.command(short_help="Format programs and talks.")(fmt)
app.command(short_help="Check the installation, or the files of a program.")(check)
app.command(short_help="Create a folder with a working program.")(new)
app.command(short_help="Serve an editor: errors, explanations, renaming.", hidden=True)(lsp)
app.command(short_help="Write everything that a gateway keeps to FILE, or restore it.")(backup)
app.add_typer(access, name="access")
app.add_typer(sessions, name="sessions")
app.add_typer(tasks, name="tasks")
app.add_typer(programs, name="programs")
usage.command(short_help="Show what people think of the answers.")(feedback)
app.add_typer(usage, name="usage")
app.add_typer(schedule, name="schedule")
app.add_typer(debug, name="debug")
setup.add_typer(keys, name="keys")
app.add_typer(setup, name="setup")


def renamed(words: Sequence[str]) -> list[str]:
    """The words of a command line, with the name that its command has now; a line says so where it had another."""
    if words[:1] == ["help"]:
        return [*words[1:], "--help"]
    for count in (2, 1):
        old = " ".join(words[:count])
        if old in OLD_NAMES:
            note(f"parley: `parley {old}` is now `parley {OLD_NAMES[old]}`. The old name ends after {VERSION}.")
            return [*OLD_NAMES[old].split(), *words[count:]]
    return list(words)


def narrowed(first: str) -> typer.Typer:
    """The command line with the command or group of this name alone: making all of them takes ten times as long.

    Any other word gets all of them, such as an option or a misspelled command.
    """
    commands = [one for one in app.registered_commands if first == (one.name or getattr(one.callback, "__name__", ""))]
    groups = [one for one in app.registered_groups if one.name == first]
    if commands or groups:
        app.registered_commands, app.registered_groups = commands, groups
    return app
