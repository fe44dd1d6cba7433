"""Content sealed with AES-256-GCM-SIV (RFC 8452), by keys that are named by what they are. Wraps `cryptography`.

Every home (a session, a conversation, a file) has a key of its own, derived by HKDF-SHA256. The nonce follows from the
binding, so a text that is written again at its place is the same again, which repeated writes rely on; with this cipher
a repeated nonce tells no more than that two texts are equal.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from msgspec import Struct

from runtime.core.errors import ConfigError, ContentLocked
from runtime.storage.encoding.sealing import MARK, PLAIN, AssociatedData, ContentSealing, key_of, missing_key

KEY_BYTES = 32
_ID_CHARS = 8
_NONCE_BYTES = 12
_HOMES_KEPT = 4096


class Key(Struct, frozen=True):
    """A key. Its id follows from it, so a wrong key is never taken for the right one."""

    secret: bytes

    @property
    def id(self) -> str:
        return hashlib.sha256(b"parley key id" + self.secret).hexdigest()[:_ID_CHARS]

    @property
    def line(self) -> str:
        """The key as a line of a key file."""
        return f"{self.id}:{_base64(self.secret)}"

    def __repr__(self) -> str:
        return f"Key({self.id})"


def new_key() -> Key:
    """A new random key."""
    return Key(os.urandom(KEY_BYTES))


def keys_from(text: str, name: str) -> Sequence[Key]:
    """The keys of a text, one a line or separated by spaces, `#` begins a remark. `name` is what errors call it.

    Raises ConfigError for a line that is no key, and for two that are the same.
    """
    keys: list[Key] = []
    for number, line in enumerate(text.splitlines(), start=1):
        for word in line.partition("#")[0].split():
            key = _key(word, f"{name}, line {number}")
            if key in keys:
                raise ConfigError(f"{name}, line {number}: the key {key.id} appears twice; remove one of them.")
            keys.append(key)
    return keys


class ContentEncryption(ContentSealing):
    """Seals with the first key, and opens with any.

    `conversations` are patterns with `*`, which include threads; other conversations stay unencrypted.
    """

    def __init__(self, keys: Sequence[Key], conversations: Sequence[str] = ("*",)) -> None:
        """Raises ConfigError without a key, or if this machine's OpenSSL lacks the cipher."""
        if not keys:
            raise ConfigError("encryption.keys has no key; parley setup keys new makes one.")
        try:
            AESGCMSIV(keys[0].secret)
        except UnsupportedAlgorithm as error:
            raise ConfigError("Encryption needs OpenSSL 3.2 or newer: install cryptography from PyPI.") from error
        self.keys = {key.id: key for key in keys}
        self._first = keys[0].id
        self._conversations = tuple(conversations)
        self._cipher = lru_cache(maxsize=_HOMES_KEPT)(self._derived)

    @property
    def selective(self) -> bool:
        return "*" not in self._conversations

    def of(self, conversation: str) -> ContentSealing:
        names = {conversation, conversation.partition("#")[0]}
        covered = any(fnmatchcase(name, pattern) for pattern in self._conversations for name in names)
        return self if covered else PLAIN

    @property
    def shared(self) -> ContentSealing:
        return self if self._conversations else PLAIN

    def seal(self, binding: AssociatedData, text: str) -> str:
        return f"{MARK}{self._first}:{_base64(self._sealed(binding, text.encode()))}"

    def open(self, binding: AssociatedData, written: str) -> str:
        if not written.startswith(MARK):
            return written
        key = key_of(written)
        try:
            content = binascii.a2b_base64(written[len(MARK) + len(key) + 1 :], strict_mode=True)
        except ValueError as error:
            raise _changed(binding, key) from error
        return self._opened(binding, key, content).decode()

    def seal_bytes(self, binding: AssociatedData, content: bytes) -> bytes:
        return f"{MARK}{self._first}:".encode() + self._sealed(binding, content)

    def open_bytes(self, binding: AssociatedData, written: bytes) -> bytes:
        if not written.startswith(MARK.encode()):
            return written
        key = key_of(written)
        return self._opened(binding, key, written[len(MARK) + len(key) + 1 :])

    def digest(self, home: str, text: str) -> str:
        """A digest that tells nothing about the text without the key."""
        own = _derived(self.keys[self._first], f"digests of {home}")
        return hmac.new(own, text.encode(), hashlib.sha256).hexdigest()

    def has(self, key: str) -> bool:
        return key == "" or key in self.keys

    def is_current(self, written: str | bytes) -> bool:
        return key_of(written) == self._first

    def _sealed(self, binding: AssociatedData, content: bytes) -> bytes:
        return self._cipher(self._first, binding.home).encrypt(_nonce(binding), content, binding.data)

    def _opened(self, binding: AssociatedData, key: str, content: bytes) -> bytes:
        if key not in self.keys:
            raise missing_key(binding, key)
        try:
            return self._cipher(key, binding.home).decrypt(_nonce(binding), content, binding.data)
        except (InvalidTag, ValueError) as error:
            raise _changed(binding, key) from error

    def _derived(self, key: str, home: str) -> AESGCMSIV:
        return AESGCMSIV(_derived(self.keys[key], home))


def _derived(key: Key, home: str) -> bytes:
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=b"parley content of " + home.encode()).derive(key.secret)


def _nonce(binding: AssociatedData) -> bytes:
    return hashlib.blake2b(binding.data, digest_size=_NONCE_BYTES).digest()


def _changed(binding: AssociatedData, key: str) -> ContentLocked:
    return ContentLocked(
        f"Content of {binding.home} cannot be opened with its key {key}: somebody changed it, or moved it there from "
        "elsewhere. It is left as it is; a backup from before may have it whole."
    )


def _key(word: str, where: str) -> Key:
    id_, _, secret = word.partition(":")
    try:
        key = Key(binascii.a2b_base64(secret, strict_mode=True))
    except ValueError:
        key = Key(b"")
    if len(key.secret) != KEY_BYTES:
        raise ConfigError(
            f"{where}: this is not a key. A key is <id>:<{KEY_BYTES} bytes in Base64>; parley setup keys new."
        )
    if key.id != id_:
        raise ConfigError(f'{where}: the key that is called "{id_}" is another one, {key.id}, or was mistyped.')
    return key


def _base64(content: bytes) -> str:
    return binascii.b2a_base64(content, newline=False).decode("ascii")
