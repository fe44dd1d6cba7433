"""Encryption by the settings: sealing of content, replacement of keys, and the check of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.settings.tree import Settings
from runtime.core.errors import ContentLocked
from runtime.storage.encoding.sealing import PLAIN, Sealing
from runtime.stores.archive import Archive

if TYPE_CHECKING:
    from runtime.storage.redis.client.connection import RedisConnection
    from runtime.storage.redis.sessions.rekeying import Rekeying


def sealing_of(settings: Settings) -> Sealing:
    """The sealing of stored content. Raises ConfigError for invalid keys."""
    keys = settings.encryption.keys
    if keys is None:
        return PLAIN
    from runtime.storage.encoding.encryption import Encryption, keys_from

    return Encryption(keys_from(keys.get_secret_value(), "encryption.keys"), settings.encryption.conversations)


def made_key() -> tuple[str, str]:
    """A new key: its id, and its line in a file of keys."""
    from runtime.storage.encoding.encryption import new_key

    key = new_key()
    return key.id, key.line


def key_ids(text: str, name: str) -> list[str]:
    """The ids of the keys in a file, in order; errors call the file `name`. Raises ConfigError."""
    from runtime.storage.encoding.encryption import keys_from

    return [key.id for key in keys_from(text, name)]


def rekeying_of(connection: RedisConnection) -> Rekeying:
    """The rewriting of the database after its keys have changed."""
    from adapters.web.acts import PLATFORM
    from runtime.storage.redis.sessions.rekeying import Rekeying

    return Rekeying(connection, PLATFORM)


async def renew_archive(connection: RedisConnection, archive: Archive | None) -> int:
    """Rewrite every session in the archive by the current settings; returns the number of sessions that cannot be
    opened and stay as they are.
    """
    from runtime.storage.redis.sessions.catalog import RedisSessionCatalog

    catalog, locked = RedisSessionCatalog(connection), 0
    sessions = [] if archive is None else [session async for session in archive.sessions()]
    for session in sessions:
        try:
            whole = None if archive is None else await archive.get(session)
        except ContentLocked:
            locked += 1
            continue
        if archive is not None and whole is not None:
            await archive.put(whole)
            if await catalog.find(session) is None:  # it was deleted meanwhile
                await archive.remove(session)
    return locked


async def ask_keys(settings: Settings) -> str | None:
    """A line about the encryption of content; None where it is off. Raises ConfigError."""
    sealing, encryption = sealing_of(settings), settings.encryption
    if sealing is PLAIN:
        return None
    where = ", ".join(encryption.conversations) or "nowhere: new content is stored unencrypted"
    return f"{len(encryption.key_words())} keys, in {'all conversations' if where == '*' else where}"
