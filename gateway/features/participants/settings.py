"""The settings of participants in other processes: who they are, and their tokens."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from gateway.settings.clients import MIN_TOKEN_CHARS
from gateway.settings.forms import FilePath, SettingsSection
from runtime.core.errors import ConfigError
from runtime.language.program import Program
from runtime.language.remote import PARTICIPANT_NAME, participants


class ParticipantSettings(SettingsSection):
    """`tokens` are files by the participants' names; who is not there cannot connect.

    At most `mailbox_messages` wait for each, in all sessions together.
    """

    tokens: dict[str, FilePath] = Field(default_factory=dict)
    mailbox_messages: int = Field(default=1_000, ge=1)

    def known(self) -> dict[str, str]:
        """The tokens by name. Raises ConfigError for a name that no program can use, a file that cannot be read, and a
        token that can be guessed or is another's."""
        found: dict[str, str] = {}
        for name in self.tokens:
            if not PARTICIPANT_NAME.fullmatch(name):
                text = (
                    f'participants.tokens: "{name}" cannot be the name of a participant; use small letters, digits, -.'
                )
                raise ConfigError(text)
            token = self._read(name)
            if len(token) < MIN_TOKEN_CHARS:
                raise ConfigError(
                    f"participants.tokens.{name}: the token has {len(token)} characters, which can be guessed; "
                    f"{MIN_TOKEN_CHARS} are the least, and `openssl rand -hex 32` makes a good one."
                )
            if token in found.values():
                raise ConfigError(f"participants.tokens.{name}: another participant has this token; give each its own.")
            found[name] = token
        return found

    def check(self, programs: Iterable[Program]) -> None:
        """Raise ConfigError for a program with an agent that nobody can play because its player has no token."""
        for program in programs:
            for klass, name in participants(program).items():
                if name not in self.tokens:
                    raise ConfigError(
                        f"{program.name}: {klass} is played in another process by {name}, who has no token; make a "
                        f'file with one, and name it as {name} = "…" below [participants.tokens].'
                    )

    def _read(self, name: str) -> str:
        path = self.tokens[name]
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            text = f"participants.tokens.{name}: {path} cannot be read ({error}); check the path and its permissions."
            raise ConfigError(text) from error
