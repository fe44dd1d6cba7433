"""What `make bench` measures and says of it, and what is promised of programs and meetings."""

import pytest

from benchmarks.__main__ import MOST_S, PARTS, plan, runnable, wanted
from benchmarks.programs import meetings
from benchmarks.programs.execution import Held, bare, in_frames, order_helper_talk
from benchmarks.table import Row, show


def test_every_benchmark_is_a_part_with_its_time() -> None:
    assert set(PARTS) == runnable()


def test_without_more_words_it_ends_in_ten_minutes() -> None:
    assert sum(PARTS[name].seconds for name in wanted([])) <= MOST_S
    assert [name for name in wanted(["--full"]) if name not in wanted([])] == ["cluster", "scale"]


def test_it_says_beforehand_how_long_each_part_takes_and_what_it_leaves_out() -> None:
    said = plan(["inbound", "routing"])
    assert said.splitlines()[1].split() == ["inbound", str(PARTS["inbound"].seconds), "s"]
    assert "Left out: cluster, scale." in said
    assert "Left out" not in plan(wanted(["--full"]))


def test_a_name_that_is_none_is_told_with_those_that_are() -> None:
    with pytest.raises(SystemExit, match=r"no benchmark nothing; there are: bus, cluster, "):
        wanted(["nothing"])


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


@pytest.fixture(scope="module")
def held() -> Held:
    """The greeting and two messages."""
    found = in_frames(order_helper_talk())
    assert isinstance(found, Held)
    return found


def test_the_order_helper_is_talked_to_its_end(held: Held) -> None:
    assert held.record.how == "ended", held.record.why
    assert [(one.line, one.text) for one in held.record.shown] == [
        (0, "Welcome! I can look up orders for you."),
        (0, "What is the number of your order?"),
        (1, "Your order is shipped and arrives on 2 August."),
        (1, "Is there another order that I may look up?"),
        (2, "Thank you, and goodbye!"),
    ]


def test_it_takes_no_more_model_calls_than_a_plain_bot_with_a_tool(held: Held) -> None:
    assert held.record.cost.calls <= bare(held).calls == 4


def test_its_prompts_are_short(held: Held) -> None:
    assert held.record.cost.chars_in <= 12_000


def test_little_is_written_that_nobody_sees(held: Held) -> None:
    assert held.record.cost.chars_out <= 1.6 * held.record.cost.chars_shown
    assert max(held.unseen) <= 12
