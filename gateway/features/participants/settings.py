"""The settings of participants in other processes: who they are, and their tokens."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from gateway.settings.forms import FilePath, SettingsSection, secrets_of
from runtime.core.errors import ConfigError
from runtime.language.program import Program
from runtime.language.remote import participants


class ParticipantSettings(SettingsSection):
    """`tokens` are files by the participants' names; who is not there cannot connect.

    At most `mailbox_messages` wait for each, in all sessions together.
    """

    tokens: dict[str, FilePath] = Field(default_factory=dict)
    mailbox_messages: int = Field(default=1_000, ge=1)

    def known(self) -> dict[str, str]:
        """The tokens by name. Raises ConfigError as `secrets_of`."""
        return secrets_of("participants.tokens.{}", self.tokens, "participant")

    def check(self, programs: Iterable[Program]) -> None:
        """Raise ConfigError for a program with an agent that nobody can play because its player has no token."""
        for program in programs:
            for klass, name in participants(program).items():
                if name not in self.tokens:
                    raise ConfigError(
                        f"{program.name}: {klass} is played in another process by {name}, who has no token; make a "
                        f'file with one, and name it as {name} = "…" below [participants.tokens].'
                    )
