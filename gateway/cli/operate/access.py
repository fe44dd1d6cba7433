"""`parley access`: who may talk with the agents, and links into the team of the web chat. A gateway that runs heeds
every change at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

from gateway.cli.operate.database import checked_person, nothing_kept, with_database
from gateway.cli.output.terminal import BAD_INPUT, ConfigOption, load_settings, note, say
from runtime.core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.access.people import AccessRequest, KnownPeople
    from gateway.database import GatewayDatabase

Answer = TypeVar("Answer")
_GivenRole = Literal["guest", "member", "owner"]
_PersonArgument = Annotated[str, typer.Argument(help="The person, as <platform>:<id>, such as telegram:42.")]
_RoleOption = Annotated[_GivenRole, typer.Option("--role", help="The role to give: guest, member or owner.")]


app = typer.Typer(help="Manage who may talk with the agents.", no_args_is_help=True)


@app.command("list", short_help="Show roles, and people waiting for access.")
def list_people(config: ConfigOption = None) -> None:
    """Show everybody with a role of their own, and everybody who is waiting for access."""

    async def ask(people: KnownPeople) -> list[str]:
        lines = [f"{person.role.word:<8} {person.id:<24} {person.name}" for person in await people.all()]
        for request in await people.requests():
            until = f"{request.expires_at:%H:%M} UTC"
            lines.append(f"{'waits':<8} {request.person_id:<24} {request.name}  code {request.code}, until {until}")
        return lines

    for line in ([] if nothing_kept(config) else _with_people(config, ask)) or [
        "Nobody has a role of their own, and nobody is waiting for access.",
        f"The settings decide: the web chat is open to {load_settings(config).web.open_to}.",
    ]:
        say(line)


@app.command()
def approve(
    code: Annotated[str, typer.Argument(help="The code that the person was given.")],
    role: _RoleOption = "member",
    config: ConfigOption = None,
) -> None:
    """Give access to somebody who is waiting."""
    from gateway.access.people import Role
    from gateway.assembly.stores import people_in, tell_later
    from runtime.core.clock import SystemClock
    from runtime.core.texts import load_texts

    async def let_in(database: GatewayDatabase) -> AccessRequest | None:
        texts = load_texts(database.settings.language, database.settings.texts_dir)
        found = await people_in(database.connection, SystemClock()).approve(code, Role[role.upper()])
        if found is not None:
            await tell_later(database.connection, found, texts("access.approved"))
        return found

    request = with_database(config, let_in, archived=False)
    if request is None:
        note(f"parley: nobody is waiting with the code {code}; see parley access list.")
        raise typer.Exit(BAD_INPUT)
    say(f"{request.name} ({request.person_id}) now has the role {role}. The gateway tells them.")


@app.command("role")
def set_role(
    person: _PersonArgument,
    role: Annotated[_GivenRole, typer.Argument(help="guest, member or owner.")],
    config: ConfigOption = None,
) -> None:
    """Give a person a role, known or not."""
    _set(config, person, role)


@app.command()
def block(person: _PersonArgument, config: ConfigOption = None) -> None:
    """Ignore a person from now on."""
    _set(config, person, "blocked")


@app.command(short_help="Remove a person's role or block.")
def revoke(person: _PersonArgument, config: ConfigOption = None) -> None:
    """Remove a person's role or block, so that the settings decide again."""
    if not _with_people(config, lambda people: people.forget(checked_person(person, config))):
        note(f"parley: {person} has no role of their own; see parley access list.")
        raise typer.Exit(BAD_INPUT)
    say(f"{person} no longer has a role of their own.")


def _set(config: Path | None, person: str, role: str) -> None:
    from gateway.access.people import Role

    _with_people(config, lambda people: people.set(checked_person(person, config), Role[role.upper()]))
    say(f"{person} now has the role {role}.")


def _with_people(config: Path | None, ask: Callable[[KnownPeople], Awaitable[Answer]]) -> Answer:
    """The result of `ask` on the storage of the settings, which a gateway may be using meanwhile."""
    from gateway.assembly.stores import people_in
    from runtime.core.clock import SystemClock

    def asked(database: GatewayDatabase) -> Awaitable[Answer]:
        return ask(people_in(database.connection, SystemClock()))

    return with_database(config, asked, archived=False)


@app.command(short_help="Create a link into the web chat's team.")
def invite(
    role: Annotated[Literal["guest", "member", "owner"], typer.Option(help="What the person may do.")] = "member",
    hours: Annotated[int, typer.Option(min=1, max=24 * 30, help="The time until the link expires.")] = 72,
    person: Annotated[
        str | None, typer.Option("--for", metavar="WEB:ID", help="Let a known person in again instead of somebody new.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Create a link that lets one person into the team of the web chat, once."""
    if load_settings(config).web.login != "invite":
        note('parley: this web chat has no team. Set web.login = "invite" in parley.toml first.')
        raise typer.Exit(BAD_INPUT)
    link = with_database(config, lambda database: _link(database, role, hours, person), archived=False)
    if link is None:
        note(f"parley: {person} is not in the team; see parley access list.")
        raise typer.Exit(BAD_INPUT)
    say(link)


async def _link(database: GatewayDatabase, role: str, hours: int, person: str | None) -> str | None:
    from adapters.web.codec import WebVisitor
    from gateway.access.people import Role
    from gateway.assembly.web_chat import address_of, link_to, team_in
    from gateway.web.identity import ReservedNames
    from gateway.web.logins.team import NotAdmitted
    from runtime.core.clock import SystemClock

    team = team_in(database.settings, database.connection, SystemClock(), ReservedNames())
    try:
        if person is None:
            secret = await team.invite(Role[role.upper()], "the operator", lasts_s=hours * 3600)
        elif await team.knows(person):
            secret = await team.invite_device(WebVisitor(person, ""), "the operator", lasts_s=hours * 3600)
        else:
            return None
    except NotAdmitted as error:
        raise ConfigError(str(error)) from error
    return link_to(address_of(database.settings.web), secret)
