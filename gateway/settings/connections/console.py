"""The settings for the console: who logs in there, and whether anything can be changed there."""

from __future__ import annotations

from pydantic import Field, SecretStr

from gateway.settings.connections.participants import MIN_TOKEN_CHARS
from gateway.settings.forms import FilePath, Section
from runtime.core.errors import ConfigError
from runtime.language.participants import PARTICIPANT_NAME

OWNER = "owner"
"""The role of who knows the console's own password."""


class ConsoleSettings(Section):
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
        """Every password."""
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
