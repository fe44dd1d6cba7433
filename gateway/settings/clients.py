"""The settings for who connects besides people in chats: clients, which are other programs, and who logs in to
the console. Who they are, their tokens, and what they may.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, SecretStr, field_validator

from gateway.clients.scopes import ClientScopes, scopes_from
from gateway.settings.forms import FilePath, SettingsSection, Words, check_secret, secrets_of
from runtime.core.errors import ConfigError

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
    """The tokens by the clients' names. Raises ConfigError as `secrets_of`."""
    return secrets_of("clients.{}.token_file", {name: client.token_file for name, client in clients.items()}, "client")


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
        """The passwords by role. Raises ConfigError as `secrets_of`."""
        if OWNER in self.roles:
            raise ConfigError(f'console.roles: "{OWNER}" cannot be the name of a role; console.password is for owners.')
        found = secrets_of("console.roles.{}", self.roles, "role", "password")
        if self.password is not None:
            own = self.password.get_secret_value()
            check_secret("console.password", own, "password")
            if own in found.values():
                raise ConfigError("console.password: another role has this password; give each its own.")
            found[OWNER] = own
        return found

    def words(self) -> frozenset[str]:
        return frozenset(self.passwords().values())
