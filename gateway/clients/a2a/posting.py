"""Sending push notifications over HTTP, and not into this machine's own network."""

from __future__ import annotations

import json
from ipaddress import ip_address
from urllib.parse import urlsplit

import anyio
import httpx

MEDIA_TYPE = "application/a2a+json"

_LIMIT_S = 15.0


class HttpPost:
    """Posts JSON to URLs. Without `private` a host is passed over while any of its addresses is not a public one."""

    def __init__(self, http: httpx.AsyncClient, *, private: bool) -> None:
        self._http = http
        self._private = private

    async def __call__(self, url: str, body: object, headers: dict[str, str], /) -> bool:
        """Whether the URL's server took it: any answer 2xx, of which nothing more is read. Redirects are no such
        answer."""
        try:
            with anyio.fail_after(_LIMIT_S):
                if not (self._private or await _is_public(url)):
                    return False
                content = json.dumps(body, ensure_ascii=False).encode()
                own = {**headers, "content-type": MEDIA_TYPE}
                async with self._http.stream("POST", url, content=content, headers=own) as response:
                    return response.is_success
        except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError, ValueError):
            return False


def http_client() -> httpx.AsyncClient:
    """A client without proxies of the environment, which follows no redirects."""
    return httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=_LIMIT_S)


async def _is_public(url: str) -> bool:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    found = await anyio.getaddrinfo(parts.hostname, port)
    addresses = [ip_address(str(where[0]).partition("%")[0]) for *_, where in found]
    plain = [getattr(address, "ipv4_mapped", None) or address for address in addresses]
    return bool(plain) and all(address.is_global and not address.is_multicast for address in plain)
