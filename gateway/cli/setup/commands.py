"""`parley setup`: what a platform or a model needs once."""

from __future__ import annotations

import typer

from gateway.cli.setup.discord import discord
from gateway.cli.setup.slack import slack
from gateway.cli.setup.voice import voice

app = typer.Typer(no_args_is_help=True, help="Set up Slack, Discord, or voice on this machine.")
app.command(short_help="Print the manifest to paste at api.slack.com/apps.")(slack)
app.command(short_help="Print the link that adds the bot to a server.")(discord)
app.command(short_help="Download a Whisper model to the data directory.")(voice)
