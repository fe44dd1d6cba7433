"""`parley setup slack`: the app's manifest for Slack."""

from __future__ import annotations

from typing import Annotated

import typer

from gateway.cli.output.terminal import ConfigOption, load_settings, plain_errors, say


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
