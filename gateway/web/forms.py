"""What every page with a log-in shares: small forms, which are bounded by origin and by number."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

from starlette.requests import Request

from adapters.capabilities import Budget
from runtime.core.json_text import read_json

_MAX_FORM_BYTES = 4_096

LOGINS = Budget(rate_per_s=0.2, burst=10)
"""Attempts to log in from one address, or from one IPv6 network of 64 bits, since a host has all of it."""

ALL_LOGINS = Budget(rate_per_s=1.0, burst=100)
"""Attempts to log in from all addresses together, where a password is asked for."""


def source_of(request: Request) -> str:
    """The address that a request comes from, of IPv6 its network."""
    address = request.client.host if request.client else ""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ip_network((ip, 64), strict=False)) if ip.version == 6 else address


def over_tls(request: Request) -> bool:
    """Whether the browser uses TLS, to the gateway or to a proxy. Where no proxy is trusted, the page's origin
    decides.
    """
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


async def small_json(request: Request) -> dict[str, str] | None:
    """A JSON object of strings from the body; None when it is too big or anything else."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_FORM_BYTES:
            return None
    try:
        data = read_json(body)
    except ValueError:
        return None
    if not isinstance(data, dict):
        return None
    return {key: value for key, value in data.items() if isinstance(value, str)}
