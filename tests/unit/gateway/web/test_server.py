"""The server of the pages, where its address is somebody else's."""

from __future__ import annotations

import socket

import pytest
from starlette.applications import Starlette

from gateway.web.server import serve
from runtime.core.errors import ConfigError

pytestmark = pytest.mark.anyio


async def test_a_port_that_is_in_use_is_named_once_with_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError) as failure:
            await serve(Starlette(), "127.0.0.1", port)
    assert str(failure.value) == (
        f"web: cannot listen on 127.0.0.1 port {port}: Address already in use. "
        "Choose another with --port or PARLEY_WEB__PORT"
    )
