"""`parley access invite`: links by which people come into the team of the web chat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway.cli.output.terminal import BAD_INPUT, ConfigOption, load_settings, note, plain_errors, say

if TYPE_CHECKING:
    from gateway.settings.tree import Settings

_PATIENCE_S = 10.0


def invite(
    role: Annotated[Literal["guest", "member", "owner"], typer.Option(help="What the person may do.")] = "member",
    hours: Annotated[int, typer.Option(min=1, max=24 * 30, help="The time until the link expires.")] = 72,
    person: Annotated[
        str | None, typer.Option("--for", metavar="WEB:ID", help="Let a known person in again instead of somebody new.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Create a link that lets one person into the team of the web chat, once."""
    import anyio

    settings = load_settings(config)
    if settings.web.login != "invite":
        note('parley: this web chat has no team. Set web.login = "invite" in parley.toml first.')
        raise typer.Exit(BAD_INPUT)
    with plain_errors():
        link = anyio.run(_link, settings, role, hours, person)
    if link is None:
        note(f"parley: {person} is not in the team; see parley access list.")
        raise typer.Exit(BAD_INPUT)
    say(link)


async def _link(settings: Settings, role: str, hours: int, person: str | None) -> str | None:
    from adapters.web.codec import Person
    from gateway.access.roles import Role
    from gateway.assembly.parts import open_storage
    from gateway.assembly.web.logins import address_of, link_to, team_in
    from gateway.web.logins.team import NotAdmitted
    from gateway.web.names import ReservedNames
    from runtime.core.clock import SystemClock
    from runtime.core.errors import ConfigError

    async with open_storage(settings, patience_s=_PATIENCE_S) as connection:
        team = team_in(settings, connection, SystemClock(), ReservedNames())
        try:
            if person is None:
                secret = await team.invite(Role[role.upper()], "the operator", lasts_s=hours * 3600)
            elif await team.knows(person):
                secret = await team.invite_device(Person(person, ""), "the operator", lasts_s=hours * 3600)
            else:
                return None
        except NotAdmitted as error:
            raise ConfigError(str(error)) from error
    return link_to(address_of(settings.web), secret)
