"""The commands and the options of all of them. Imports nothing heavy: `parley --help` answers at once."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gateway.cli.author.check import check
from gateway.cli.author.compile import compile_programs
from gateway.cli.author.dev import dev
from gateway.cli.author.doctor import doctor
from gateway.cli.author.exec import exec_program
from gateway.cli.author.fmt import fmt
from gateway.cli.author.init import init
from gateway.cli.author.lsp import lsp
from gateway.cli.author.new import new
from gateway.cli.author.talks import hold_talks
from gateway.cli.discord import app as discord
from gateway.cli.operate.access import app as access
from gateway.cli.operate.backup import backup, restore
from gateway.cli.operate.dlq import app as dlq
from gateway.cli.operate.invite import invite
from gateway.cli.operate.keys import app as keys
from gateway.cli.operate.programs import app as programs
from gateway.cli.operate.sessions.commands import app as sessions
from gateway.cli.operate.tasks import app as tasks
from gateway.cli.serve.bus import bus
from gateway.cli.serve.run import run
from gateway.cli.serve.standby import standby
from gateway.cli.serve.tape import tape
from gateway.cli.slack import app as slack
from gateway.cli.voice import app as voice
from gateway.features.feedback.cli import feedback
from gateway.features.reports.cli import app as debug
from gateway.features.schedules.cli import app as cron
from gateway.features.usage.cli import usage
from gateway.version import VERSION

GROUPS = {
    "Write": ("new", "dev", "check", "test", "exec", "compile", "fmt", "lsp", "init", "doctor"),
    "Run": ("run", "standby", "bus", "tape", "backup", "restore"),
    "Look": ("sessions", "tasks", "programs", "usage", "feedback", "debug", "dlq"),
    "Manage": ("access", "invite", "keys", "cron", "slack", "discord", "voice"),
}
"""The commands by what somebody wants to do, in the order of the help."""


class _Grouped(TyperGroup):
    """Lists the commands in groups."""

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


_WORDS_OF_THE_PROGRAM = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}


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
app.command(short_help="Keep a front and agent nodes running.")(standby)
app.command(short_help="Serve only the bus for other programs.")(bus)
app.command(short_help="Serve only the tapes for other programs.")(tape)
app.command("compile", short_help="Show PROGRAM as PBAsm, or what is wrong with it.")(compile_programs)
app.command("exec", short_help="Execute PROGRAM once.", context_settings=_WORDS_OF_THE_PROGRAM)(exec_program)
app.command("test", short_help="Run talks with programs, and report differences.")(hold_talks)
app.command(short_help="Format programs and talks.")(fmt)
app.command(short_help="Check the installation, or the files of a program.")(check)
app.command(short_help="Find what is wrong here, and fix it with --fix.")(doctor)
app.command(short_help="Create a folder with a working program.")(new)
app.command(short_help="Write parley.toml, .env.example and a first program.")(init)
app.command(short_help="Serve an editor: errors, explanations, renaming.")(lsp)
app.command(short_help="Show which models were used and what they cost.")(usage)
app.command(short_help="Show what people think of the answers.")(feedback)
app.command(short_help="Write everything that a gateway keeps to FILE.")(backup)
app.command(short_help="Restore the state from FILE.")(restore)
app.command(short_help="Create a link into the web chat's team.")(invite)
app.add_typer(access, name="access")
app.add_typer(sessions, name="sessions")
app.add_typer(tasks, name="tasks")
app.add_typer(programs, name="programs")
app.add_typer(cron, name="cron")
app.add_typer(debug, name="debug")
app.add_typer(dlq, name="dlq")
app.add_typer(keys, name="keys")
app.add_typer(slack, name="slack")
app.add_typer(voice, name="voice")
app.add_typer(discord, name="discord")


def narrowed(first: str) -> typer.Typer:
    """The command line with the command or group of this name alone: making all of them takes ten times as long.

    Any other word gets all of them, such as an option or a misspelled command.
    """
    commands = [one for one in app.registered_commands if first == (one.name or getattr(one.callback, "__name__", ""))]
    groups = [one for one in app.registered_groups if one.name == first]
    if commands or groups:
        app.registered_commands, app.registered_groups = commands, groups
    return app
