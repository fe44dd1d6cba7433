"""What each platform does not have is written down, and nothing else is left out of its contract."""

from __future__ import annotations

import pytest

from tests.contract.stands.kinds import STANDS, stand_of
from tests.contract.stands.parts import LACKS, lacked_by

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("platform", STANDS)
async def test_a_platform_lacks_what_is_written_down_and_nothing_else(platform: str) -> None:
    async with stand_of(platform) as stand:
        assert await lacked_by(stand) == LACKS[platform]
