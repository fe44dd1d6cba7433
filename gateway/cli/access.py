"""`parley access`: who may talk with the agents; a gateway that runs heeds every change at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

from gateway.cli.output.terminal import BAD_INPUT, ConfigOption, load_settings, note, plain_errors, say

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.access.people import People, Request

    Later = Callable[[Request, str], Awaitable[None]]
    """Has the gateway tell somebody what became of their request, by the key of the text."""

Answer = TypeVar("Answer")
GivenRole = Literal["guest", "member", "owner"]
PersonArgument = Annotated[str, typer.Argument(help="Who, as <platform>:<id>, such as telegram:42.")]
RoleOption = Annotated[GivenRole, typer.Option("--role", help="What they may: guest, member or owner.")]

_PATIENCE_S = 10.0

app = typer.Typer(help="Who may talk with the agents.", no_args_is_help=True)


@app.command("list")
def list_people(config: ConfigOption = None) -> None:
    """Show everybody who was given a role, and who waits to be let in."""

    async def ask(people: People) -> list[str]:
        lines = [f"{person.role.word:<8} {person.id:<24} {person.name}" for person in await people.all()]
        for request in await people.requests():
            until = f"{request.expires_at:%H:%M} UTC"
            lines.append(f"{'waits':<8} {request.person_id:<24} {request.name}  code {request.code}, until {until}")
        return lines

    for line in _with_people(config, ask) or ["Nobody was let in beyond the settings, and nobody waits."]:
        say(line)


@app.command()
def approve(
    code: Annotated[str, typer.Argument(help="The code that the stranger was told.")],
    role: RoleOption = "member",
    config: ConfigOption = None,
) -> None:
    """Let in somebody who waits."""
    from gateway.access.roles import Role

    async def let_in(people: People, later: Later) -> Request | None:
        found = await people.approve(code, Role[role.upper()])
        if found is not None:
            await later(found, "access.approved")
        return found

    request = _with_storage(config, let_in)
    if request is None:
        note(f"parley: nobody waits with the code {code}; see parley access list.")
        raise typer.Exit(BAD_INPUT)
    say(f"{request.name} ({request.person_id}) is {role} from now on, and is told so by the gateway.")


@app.command("role")
def set_role(
    person: PersonArgument,
    role: Annotated[GivenRole, typer.Argument(help="guest, member or owner.")],
    config: ConfigOption = None,
) -> None:
    """Give somebody a role, whoever they are."""
    _set(config, person, role)


@app.command()
def block(person: PersonArgument, config: ConfigOption = None) -> None:
    """Take nothing from somebody any more."""
    _set(config, person, "blocked")


@app.command(short_help="Take somebody's role away, or their block.")
def revoke(person: PersonArgument, config: ConfigOption = None) -> None:
    """Take somebody's role away, or their block; what the settings say holds again."""
    if not _with_people(config, lambda people: people.forget(_checked(person, config))):
        note(f"parley: {person} has no role of their own; see parley access list.")
        raise typer.Exit(BAD_INPUT)
    say(f"{person} has no role of their own any more.")


def _set(config: Path | None, person: str, role: str) -> None:
    from gateway.access.roles import Role

    _with_people(config, lambda people: people.set(_checked(person, config), Role[role.upper()]))
    say(f"{person} is {role} from now on.")


def _checked(person: str, config: Path | None) -> str:
    from gateway.catalog import platform_names
    from runtime.core.errors import ConfigError

    names = platform_names(load_settings(config))
    platform, _, rest = person.partition(":")
    if not rest or platform not in names:
        raise ConfigError(f'"{person}" is nobody; write <platform>:<id>, with one of {", ".join(names)}.')
    return person


def _with_people(config: Path | None, ask: Callable[[People], Awaitable[Answer]]) -> Answer:
    """What `ask` finds in the storage of the settings, which a gateway may be using meanwhile."""
    return _with_storage(config, lambda people, _: ask(people))


def _with_storage(config: Path | None, ask: Callable[[People, Later], Awaitable[Answer]]) -> Answer:
    import anyio

    async def asked() -> Answer:
        from gateway.parts import open_storage, people_in, tell_later
        from runtime.core.clock import SystemClock
        from runtime.core.texts import load_texts

        settings = load_settings(config)
        texts = load_texts(settings.language, settings.texts_dir)
        async with open_storage(settings, patience_s=_PATIENCE_S) as connection:

            async def later(request: Request, key: str) -> None:
                await tell_later(connection, request, texts(key))

            return await ask(people_in(connection, SystemClock()), later)

    with plain_errors():
        return anyio.run(asked)
