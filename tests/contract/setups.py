"""The ways in which a Redis can be set up."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.storage.encoding.encryption import ContentEncryption, Key
from runtime.storage.encoding.sealing import PLAIN, ContentSealing
from tests.fakes.servers.valkey_cluster import ValkeyCluster, ValkeySentinel

SETUPS = ("alone", *(pytest.param(name, marks=pytest.mark.several_servers) for name in ("cluster", "sentinel")))

ENCRYPTED = "encrypted"
"""One server alone, with everything encrypted."""

SEALING = ContentEncryption([Key(bytes(range(32)))])


def location_of(setup: str, request: pytest.FixtureRequest) -> Path | str:
    """Where a set-up without data is."""
    if setup in ("alone", ENCRYPTED):
        socket: Path = request.getfixturevalue("valkey_socket")
        return socket
    servers: ValkeyCluster | ValkeySentinel = request.getfixturevalue(f"valkey_{setup}")
    servers.flush()
    return servers.url


def sealing_of(setup: str) -> ContentSealing:
    """How content is written in a set-up."""
    return SEALING if setup == ENCRYPTED else PLAIN
