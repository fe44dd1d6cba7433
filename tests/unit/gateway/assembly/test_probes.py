"""What `parley check` asks."""

from __future__ import annotations

import pytest

from gateway.assembly.probes import probes
from gateway.settings.tree import Settings

pytestmark = pytest.mark.anyio


async def test_nothing_that_says_nothing_of_its_settings_is_shown_as_not_set_up() -> None:
    settings = Settings(model="openai/x", model_base_url="http://127.0.0.1:9/v1")
    names = [probe.name for probe in await probes(settings)]
    assert "schedules" in names
    assert not {"feedback", "mcp", "a2a"} & {*names}
