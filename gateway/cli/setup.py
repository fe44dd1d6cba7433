"""`parley setup`: what a platform or a model needs once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.output.terminal import ConfigOption, load_settings, note, plain_errors, say
from runtime.core.errors import ConfigError

if TYPE_CHECKING:
    from adapters.discord.api.bot import BotInvitation
    from gateway.settings.tree import Settings

app = typer.Typer(no_args_is_help=True, help="Set up Slack, Discord, voice or the keys of stored content.")


def voice(
    size: Annotated[str, typer.Argument(help="tiny, base, small, medium, large-v3 or large-v3-turbo.")],
    config: ConfigOption = None,
) -> None:
    """Download a Whisper model to the data directory. The gateway itself downloads none."""
    from gateway.models.opening import whisper_folder
    from runtime.llm.local import download as fetch
    from runtime.llm.local import is_there

    with plain_errors():
        folder = whisper_folder(load_settings(config), size)
        if is_there(folder):
            note(f"{size} is already in {folder}.")
            return
        fetch(size, folder)
    note(f'{size} is in {folder}. Set it: [models] transcription = "whisper/{size}"')


def slack(
    name: Annotated[str, typer.Option(help="The app's and the bot's name.")] = "Parley",
    url: Annotated[
        str | None, typer.Option(help="The gateway's public address. Slack then sends events there over HTTP.")
    ] = None,
    socket: Annotated[
        bool,
        typer.Option("--socket", help="Receive events by Socket Mode anyway; --url is then only for installing."),
    ] = False,
    several: Annotated[bool, typer.Option("--several", help="For several workspaces; needs --url.")] = False,
    config: ConfigOption = None,
) -> None:
    """Print the manifest to paste at api.slack.com/apps, Create New App, From a manifest."""
    if several and url is None:
        raise typer.BadParameter("is needed with --several: workspaces install the app there", param_hint="--url")
    if url is not None and not url.startswith("https://"):
        raise typer.BadParameter(f'is "{url}"; Slack calls only https:// addresses', param_hint="--url")
    import yaml

    from adapters.slack.manifest import manifest as wanted
    from runtime.core.texts import load_texts

    with plain_errors():
        settings = load_settings(config)
        texts = load_texts(settings.language, settings.texts_dir)
    made = wanted(name, texts, url=url, socket=socket or url is None, several=several)
    say(yaml.safe_dump(made, sort_keys=False, allow_unicode=True).rstrip())


def discord(
    application: Annotated[
        str | None, typer.Option(help="The application's id. Default: Parley asks Discord, with the bot's token.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Print the link that adds the bot to a server, and each permission it asks for."""
    import anyio

    from adapters.discord.api.bot import invitation

    with plain_errors():
        if application is not None and not application.isdecimal():
            raise typer.BadParameter(f'is "{application}"; it is a number', param_hint="--application")
        made = invitation(application) if application is not None else anyio.run(_asked, load_settings(config))
    say(made.link)
    say()
    say("Open it as somebody who manages the server. It asks for only these permissions:")
    for right in made.permissions:
        say(f"  {right.name:<24} {right.purpose}{'' if right.essential else ' (may be left out)'}")


async def _asked(settings: Settings) -> BotInvitation:
    from adapters.discord.api.bot import DiscordApi, invitation
    from adapters.discord.api.calls import DiscordCalls
    from adapters.platform_clock import PlatformClock
    from runtime.core.clock import SystemClock

    own = settings.discord
    if own.token is None:
        raise ConfigError("discord.token is not set: set PARLEY_DISCORD__TOKEN, or give --application with its id.")
    calls = DiscordCalls(
        own.token.get_secret_value(), base_url=own.base_url, clock=PlatformClock(SystemClock()), call_timeout_s=10.0
    )
    try:
        us, _ = await DiscordApi(calls).identity()
    finally:
        await calls.close()
    return invitation(us.application_id)


app.command(short_help="Print the manifest to paste at api.slack.com/apps.")(slack)
app.command(short_help="Print the link that adds the bot to a server.")(discord)
app.command(short_help="Download a Whisper model to the data directory.")(voice)
