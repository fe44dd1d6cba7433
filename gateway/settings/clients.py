"""The settings for who connects besides people in chats: clients, which are other programs, and who logs in to
the console. Who they are, their tokens, and what they may.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, SecretStr, field_validator

from gateway.clients.scopes import ClientScopes, scopes_from
from gateway.settings.forms import FilePath, SettingsSection, Words
from runtime.core.errors import ConfigError
from runtime.language.remote import PARTICIPANT_NAME

MIN_TOKEN_CHARS = 16

OWNER = "owner"
"""The role of who knows the console's own password."""


class PublisherSettings(SettingsSection):
    """One `[publishers.<program>]`: patterns of the types of events that the program may publish, and the programs that
    may begin on them, `*` for any part of a name."""

    types: Words = ()
    begins: Words = ()

    @field_validator("types")
    @classmethod
    def _are_patterns(cls, types: tuple[str, ...]) -> tuple[str, ...]:
        scopes_from(f"events:write:{pattern}" for pattern in types)
        return types


def publisher_scopes(publishers: Mapping[str, PublisherSettings]) -> dict[str, ClientScopes]:
    return {name: ClientScopes(events_write=each.types, triggers=each.begins) for name, each in publishers.items()}


class ClientSettings(SettingsSection):
    """One `[clients.<name>]`: the file with its token, and its scopes. Without a scope it may do nothing."""

    token_file: FilePath
    scopes: Words = ()

    @field_validator("scopes")
    @classmethod
    def _are_scopes(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        scopes_from(scopes)
        return scopes


Clients = Mapping[str, ClientSettings]
"""The clients by name."""


def client_scopes(clients: Clients) -> dict[str, ClientScopes]:
    return {name: scopes_from(client.scopes) for name, client in clients.items()}


def client_tokens(clients: Clients) -> dict[str, str]:
    """The tokens by the clients' names. Raises ConfigError for a name that will not do, a file that cannot be read, and
    a token that can be guessed or is another's."""
    found: dict[str, str] = {}
    for name, client in clients.items():
        if not PARTICIPANT_NAME.fullmatch(name):
            raise ConfigError(f'clients: "{name}" cannot be the name of a client; use small letters, digits, -.')
        try:
            token = client.token_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            text = f"clients.{name}.token_file: {client.token_file} cannot be read ({error}); check the path."
            raise ConfigError(text) from error
        if len(token) < MIN_TOKEN_CHARS:
            raise ConfigError(
                f"clients.{name}.token_file: the token has {len(token)} characters, which can be guessed; "
                f"{MIN_TOKEN_CHARS} are the least, and `openssl rand -hex 32` makes a good one."
            )
        if token in found.values():
            raise ConfigError(f"clients.{name}.token_file: another client has this token; give each its own.")
        found[name] = token
    return found


class ConsoleSettings(SettingsSection):
    """The console at /console. Owners of the web chat are owners there, and so is who knows the password.

    `roles` are files with the passwords of further roles, by their names: those see states and numbers, and no words of
    people and models. Owners can change something there only with `acts`, and read what is said in private and direct
    rooms of the web chat only with `private`.
    """

    password: SecretStr | None = None
    password_file: FilePath | None = None
    acts: bool = False
    private: bool = False
    roles: dict[str, FilePath] = Field(default_factory=dict)

    @property
    def has_passwords(self) -> bool:
        return self.password is not None or bool(self.roles)

    def passwords(self) -> dict[str, str]:
        """The passwords by role. Raises ConfigError for a name that will not do, a file that cannot be read, and a
        password that can be guessed or is another role's."""
        found: dict[str, str] = {}
        if self.password is not None:
            found[OWNER] = _strong("console.password", self.password.get_secret_value(), found)
        for name, path in self.roles.items():
            if name == OWNER or not PARTICIPANT_NAME.fullmatch(name):
                raise ConfigError(
                    f'console.roles: "{name}" cannot be the name of a role; use small letters, digits, -.'
                )
            try:
                text = path.read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"console.roles.{name}: {path} cannot be read ({error}); check the path.") from error
            found[name] = _strong(f"console.roles.{name}", text, found)
        return found

    def words(self) -> frozenset[str]:
        return frozenset(self.passwords().values())


def _strong(key: str, password: str, others: dict[str, str]) -> str:
    if len(password) < MIN_TOKEN_CHARS:
        raise ConfigError(
            f"{key}: the password has {len(password)} characters, which can be guessed; {MIN_TOKEN_CHARS} are the "
            "least, and `openssl rand -hex 32` makes a good one."
        )
    if password in others.values():
        raise ConfigError(f"{key}: another role has this password; give each its own.")
    return password
