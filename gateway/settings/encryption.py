"""The settings for encryption of stored content."""

from __future__ import annotations

from pydantic import SecretStr

from gateway.settings.forms import FilePath, Section, Words


class EncryptionSettings(Section):
    """With which keys content is encrypted where it is stored; without any it is not.

    `keys` are lines as `parley keys new` writes them: the first is used for writing, all for reading. `conversations`
    are patterns of keys of conversations, with `*` for anything; what matches none is written as it is.
    """

    keys: SecretStr | None = None
    keys_file: FilePath | None = None
    conversations: Words = ("*",)

    def key_words(self) -> frozenset[str]:
        """Every secret among the keys."""
        text = "" if self.keys is None else self.keys.get_secret_value()
        words = [word for line in text.splitlines() for word in line.partition("#")[0].split()]
        return frozenset(word.partition(":")[2] or word for word in words)
