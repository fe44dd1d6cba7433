"""The ways in which a Redis can be set up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.valkey_cluster import ValkeyCluster, ValkeySentinel

SETUPS = ("alone", "cluster", "sentinel")


def location_of(setup: str, request: pytest.FixtureRequest) -> Path | str:
    """Where a set-up without data is."""
    if setup == "alone":
        socket: Path = request.getfixturevalue("valkey_socket")
        return socket
    servers: ValkeyCluster | ValkeySentinel = request.getfixturevalue(f"valkey_{setup}")
    servers.flush()
    return servers.url
