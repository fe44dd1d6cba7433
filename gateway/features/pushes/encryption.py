"""Web Push as the standards have it: who sends (RFC 8292), and content that only the browser reads (RFC 8291, 8188).

It is imported by the first who wants notifications: its library takes 8 MiB.
"""

from __future__ import annotations

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime, timedelta

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gateway.features.pushes.keys import BadSubscription

_RECORD_BYTES = 4_096
_TOKEN_LASTS = timedelta(hours=12)
_POINT_BYTES = 65
_AUTH_BYTES = 16


class PushKey:
    """The key by which push services know this gateway."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key

    @staticmethod
    def new() -> PushKey:
        return PushKey(ec.generate_private_key(ec.SECP256R1()))

    @staticmethod
    def read(text: str) -> PushKey:
        return PushKey(ec.derive_private_key(int(text, 16), ec.SECP256R1()))

    @property
    def text(self) -> str:
        """As it is kept: a secret."""
        return f"{self._key.private_numbers().private_value:064x}"

    @property
    def public(self) -> str:
        return encode(_point(self._key.public_key()))

    def authorization(self, audience: str, contact: str, now: datetime) -> str:
        """The header that says who sends something to a service, by its origin."""
        claims = {"aud": audience, "exp": int((now + _TOKEN_LASTS).timestamp()), "sub": contact}
        parts = [encode(json.dumps(part).encode()) for part in ({"typ": "JWT", "alg": "ES256"}, claims)]
        signed = ".".join(parts)
        r, s = decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        signature = encode(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
        return f"vapid t={signed}.{signature}, k={self.public}"


def sealed(content: bytes, browser_key: str, auth: str) -> bytes:
    """The body of a push that only the browser with this subscription reads. Raises BadSubscription."""
    receiver, secret = _receiver(browser_key), _decoded(auth)
    if len(secret) != _AUTH_BYTES:
        raise BadSubscription("'auth' has 16 bytes")
    own = ec.generate_private_key(ec.SECP256R1())
    sender, salt = _point(own.public_key()), os.urandom(16)
    shared = own.exchange(ec.ECDH(), receiver)
    material = _derived(shared, secret, b"WebPush: info\x00" + _point(receiver) + sender, 32)
    key = _derived(material, salt, b"Content-Encoding: aes128gcm\x00", 16)
    nonce = _derived(material, salt, b"Content-Encoding: nonce\x00", 12)
    record = AESGCM(key).encrypt(nonce, content + b"\x02", None)
    return salt + _RECORD_BYTES.to_bytes(4, "big") + bytes([len(sender)]) + sender + record


def check_keys(browser_key: str, auth: str) -> None:
    """Raise BadSubscription for what are no keys of a browser."""
    sealed(b"", browser_key, auth)


def encode(data: bytes) -> str:
    """Base64 for addresses, without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _receiver(browser_key: str) -> ec.EllipticCurvePublicKey:
    point = _decoded(browser_key)
    if len(point) != _POINT_BYTES:
        raise BadSubscription("'p256dh' is a point of 65 bytes")
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError as error:
        raise BadSubscription("'p256dh' is no point of the curve") from error


def _decoded(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except ValueError as error:
        raise BadSubscription("a key is not Base64") from error


def _derived(material: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(material)


def _point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
