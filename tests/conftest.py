"""What every test may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.fakes.valkey import RealValkey

settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")
"""Property tests try the same examples in every run: a failure is seen by whoever caused it."""


@pytest.fixture
def anyio_backend() -> str:
    """Everything runs on asyncio."""
    return "asyncio"


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealValkey]:
    """One real server for the whole run."""
    server = RealValkey(tmp_path_factory.mktemp("valkey"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def valkey_socket(valkey: RealValkey) -> Path:
    """The socket of a real server without data."""
    valkey.flush()
    return valkey.socket
