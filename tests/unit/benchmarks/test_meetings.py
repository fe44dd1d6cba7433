"""The benchmark of meetings measures what it says: every message is in every queue, and every agent is made."""

from __future__ import annotations

import pytest

from benchmarks.programs import meetings
from benchmarks.table import show

pytestmark = pytest.mark.anyio


async def test_it_counts_what_has_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meetings, "DELIVERIES", 1_000)
    monkeypatch.setattr(meetings, "ROUNDS", 1)
    for collected in (False, True):
        ours, bare = await meetings.broadcasts(5, collected=collected)
        assert ours > 0
        assert bare > 0
    assert await meetings.among(3, 20) > 0


def test_its_rows_name_what_the_recorded_figure_is(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"DELIVERIES": 10_000, "ROUNDS": 1, "SIZES": (10, 1_000), "AGENTS": (5, 20), "HALLS": (5, 20)}
    for name, value in small.items():
        monkeypatch.setattr(meetings, name, value)
    table = show(meetings.run())
    assert "28,600 of the first implementation, as recorded" in table
    assert "an agent of a session with 20" in table
