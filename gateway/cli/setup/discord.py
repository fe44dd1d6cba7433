"""`parley setup discord`: the link that lets the bot into a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.output.terminal import ConfigOption, load_settings, plain_errors, say

if TYPE_CHECKING:
    from adapters.discord.api.permissions import Invitation
    from gateway.settings.tree import Settings


def discord(
    application: Annotated[
        str | None, typer.Option(help="The application's id. Default: Parley asks Discord, with the bot's token.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Print the link that adds the bot to a server, and each permission it asks for."""
    import anyio

    from adapters.discord.api.permissions import invitation

    with plain_errors():
        if application is not None and not application.isdecimal():
            raise typer.BadParameter(f'is "{application}"; it is a number', param_hint="--application")
        made = invitation(application) if application is not None else anyio.run(_asked, load_settings(config))
    say(made.link)
    say()
    say("Open it as somebody who manages the server. It asks for only these permissions:")
    for right in made.permissions:
        say(f"  {right.name:<24} {right.purpose}{'' if right.essential else ' (may be left out)'}")


async def _asked(settings: Settings) -> Invitation:
    from adapters.discord.api.bot import DiscordApi
    from adapters.discord.api.calls import DiscordCalls
    from adapters.discord.api.permissions import invitation
    from adapters.platform_clock import PlatformClock
    from runtime.core.clock import SystemClock
    from runtime.core.errors import ConfigError

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
