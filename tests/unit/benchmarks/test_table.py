"""The table of measurements."""

from __future__ import annotations

from benchmarks.table import Row, show


def test_a_figure_is_shown_beside_its_floor_and_their_ratio() -> None:
    rows = [Row("routed", 150_000.4, "/s", 300_000, "bare queue", "> 100,000/s"), Row("hop", 7.654, "µs")]
    assert show(rows).splitlines() == [
        "what    value       floor                    ratio  hold",
        "routed  150,000 /s  300,000 /s (bare queue)  0.50   > 100,000/s",
        "hop     7.65 µs",
    ]


def test_without_a_floor_there_is_no_ratio() -> None:
    assert Row("hop", 7.0, "µs").ratio is None
    assert Row("hop", 7.0, "µs", 0.0).ratio is None
