"""What a start says of who may come in, and a start that would let in everybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.gateway_process import gateway, parley

pytestmark = pytest.mark.anyio


async def test_a_start_says_what_is_open_to_whom(tmp_path: Path) -> None:
    async with gateway(tmp_path, None) as process:
        await process.prints(r"open to\s+everybody on this machine")


async def test_a_gateway_that_others_reach_does_not_start_without_a_password(tmp_path: Path) -> None:
    code, out, errors = await parley(tmp_path, "run", "--host", "0.0.0.0")
    assert (code, out) == (2, "")
    assert errors.startswith("parley: web.host is 0.0.0.0, so other machines reach the web chat")
