"""The colours of people and agents in a room."""

from itertools import combinations

from adapters.web.charters import HUES, MAX_HUES, RoomHues
from tests.fakes.observing.records import MemoryRecords


async def test_two_in_a_room_look_different_where_the_colours_suffice_and_keep_their_colour() -> None:
    records = MemoryRecords()
    hues = RoomHues(records)
    six = ["web:ada", "agent Guide", "agent Baker", "web:bob", "agent Painter", "agent Poet"]
    for key in six:
        assert key in (await hues.give("lobby", key) or {})
    early = dict(await hues.of("lobby"))
    assert min(min((a - b) % HUES, (b - a) % HUES) for a, b in combinations(early.values(), 2)) >= 1
    for number in range(HUES - len(six)):
        await hues.give("lobby", f"web:{number}")
    all_ = await hues.of("lobby")
    assert sorted(all_.values()) == list(range(HUES))
    assert {key: all_[key] for key in six} == early
    assert await hues.give("lobby", "web:ada") is None
    assert await RoomHues(records).of("lobby") == all_, "after a restart"
    assert list(await hues.give("team", "web:ada") or {}) == ["web:ada"]


async def test_two_nodes_give_one_colour_each_and_a_bad_record_or_a_crowd_hurts_nobody() -> None:
    records = MemoryRecords()
    here, there = RoomHues(records), RoomHues(records)
    await here.give("lobby", "web:ada")
    assert (await there.give("lobby", "web:bob") or {}).keys() == {"web:ada", "web:bob"}
    assert await here.give("lobby", "web:bob") is None
    assert await here.of("lobby") == await there.of("lobby")
    records.records["odd"] = "not JSON"
    assert (await here.give("odd", "web:ada") or {}).keys() == {"web:ada"}
    for number in range(MAX_HUES + 9):
        await here.give("crowd", f"web:{number}")
    assert len(await here.of("crowd")) == MAX_HUES
    assert await here.give("crowd", "web:late") is None
