"""A push service on this machine, and browsers that read what it is given."""

import json
from base64 import urlsafe_b64decode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.features.pushes.encryption import encode
from gateway.web.server import serve


def decode(text: str) -> bytes:
    """Base64 for addresses, without padding."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class PushedBrowser:
    """A browser that subscribed. `auth` and its key are known to nobody but the gateway."""

    auth: str = "BTBZMqHH6r4Tts7J_aSIgg"
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    @property
    def p256dh(self) -> str:
        """The public half of its key."""
        return encode(_point(self.key.public_key()))

    def read(self, body: bytes) -> bytes:
        """What a push says, by RFC 8291."""
        salt, length = body[:16], body[20]
        sender, record = body[21 : 21 + length], body[21 + length :]
        shared = self.key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
        info = b"WebPush: info\x00" + _point(self.key.public_key()) + sender
        material = HKDF(hashes.SHA256(), 32, decode(self.auth), info).derive(shared)
        key = HKDF(hashes.SHA256(), 16, salt, b"Content-Encoding: aes128gcm\x00").derive(material)
        nonce = HKDF(hashes.SHA256(), 12, salt, b"Content-Encoding: nonce\x00").derive(material)
        return AESGCM(key).decrypt(nonce, record, None).rstrip(b"\x00").removesuffix(b"\x02")


@dataclass
class PushService:
    """What it was given, by the last part of its addresses; `statuses` are its answers."""

    url: str = ""
    statuses: dict[str, int] = field(default_factory=dict)
    posts: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    _came: anyio.Event = field(default_factory=anyio.Event)

    def endpoint(self, name: str) -> str:
        """The address of a browser."""
        return f"{self.url}/{name}"

    async def until(self, count: int) -> list[str]:
        """The names that were told, in order of names, once there are so many."""
        while len(self.posts) < count:
            self._came = anyio.Event()
            await self._came.wait()
        return sorted(name for name, _, _ in self.posts)

    def said(self, name: str, browser: PushedBrowser) -> list[dict[str, str]]:
        """What a browser reads."""
        return [json.loads(browser.read(body)) for to, _, body in self.posts if to == name]

    async def answer(self, request: Request) -> Response:
        name = request.path_params["name"]
        self.posts.append((name, dict(request.headers), await request.body()))
        self._came.set()
        return Response(status_code=self.statuses.get(name, 201), headers={"location": "http://127.0.0.1:9/"})


def claims(authorization: str) -> dict[str, Any]:
    """What a VAPID header claims. Raises InvalidSignature unless the key in it signed that."""
    parts = dict(part.strip().split("=", 1) for part in authorization.removeprefix("vapid ").split(","))
    signed, _, signature = parts["t"].rpartition(".")
    raw = decode(signature)
    der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decode(parts["k"]))
    key.verify(der, signed.encode(), ec.ECDSA(hashes.SHA256()))
    claimed: dict[str, Any] = json.loads(decode(signed.partition(".")[2]))
    return claimed | {"key": parts["k"]}


@asynccontextmanager
async def push_service() -> AsyncGenerator[PushService]:
    """Serve until the block ends."""
    service = PushService()
    app = Starlette(routes=[Route("/{name}", service.answer, methods=["POST"])])
    async with anyio.create_task_group() as tasks:
        service.url = f"http://127.0.0.1:{await tasks.start(serve, app, '127.0.0.1', 0)}"
        yield service
        tasks.cancel_scope.cancel()


def _point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
