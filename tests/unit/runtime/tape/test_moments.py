"""A session at any moment of its past."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from runtime.core.ids import AgentId, SessionId, TapeId
from runtime.tape.fold import apply_fact
from runtime.tape.snapshot import EVERY, Snapshot, TapeMoments, snapshot_of
from runtime.tape.state.session import SessionState
from runtime.tape.tape import Fact

S = SessionId("s")
T0 = datetime(2026, 1, 1, tzinfo=UTC)


def fact(seq: int, kind: str, data: dict[str, Any]) -> Fact:
    return Fact(TapeId("s/1000"), seq, kind, T0, data)


def counting(facts: int) -> list[Fact]:
    """An agent whose variable is always the number of the last fact."""
    begun = fact(1, "agent", {"id": "1000", "class": "Host", "vars": {"n": 1}})
    return [begun, *(fact(seq, "altered", {"agent": "1000", "set": {"n": seq}}) for seq in range(2, facts + 1))]


class Tapes:
    """A tape that counts how much of it is read."""

    def __init__(self, facts: list[Fact], *snapshots: Snapshot) -> None:
        self.facts = facts
        self.read = 0
        self._snapshots = snapshots

    async def read_session(
        self, session: SessionId, *, after: int = 0, until: int | None = None
    ) -> AsyncIterator[Fact]:
        assert session == S
        for one in self.facts[after:until]:
            self.read += 1
            yield one

    async def snapshot(self, _session: SessionId, version: str, seq: int, /) -> Snapshot | None:
        before = [one for one in self._snapshots if one.version == version and one.seq <= seq]
        return max(before, key=lambda one: one.seq, default=None)


def moments_of(tapes: Tapes) -> TapeMoments:
    return TapeMoments(tapes, tapes.snapshot)


async def number_at(moments: TapeMoments, seq: int) -> tuple[int, object]:
    state = (await moments.at(S, seq)).state
    return state.seq, state.agents[AgentId("1000")].variables["n"]


async def test_every_moment_is_as_it_was_in_any_order() -> None:
    moments = moments_of(Tapes(counting(5 * EVERY // 2)))
    for seq in (5 * EVERY // 2, 1, EVERY + 1, EVERY, EVERY - 1, 2 * EVERY + 7, 3):
        assert await number_at(moments, seq) == (seq, seq)


async def test_who_goes_back_and_forth_reads_few_facts() -> None:
    tapes = Tapes(counting(4 * EVERY))
    moments = moments_of(tapes)
    await moments.at(S, 4 * EVERY)
    tapes.read = 0
    await moments.at(S, 3 * EVERY + 10)
    await moments.at(S, EVERY + 10)
    assert tapes.read == 20


async def test_a_first_look_begins_with_the_snapshot_of_the_store_before_it() -> None:
    facts, state, snapshots = counting(3 * EVERY), SessionState(), []
    for one in facts:
        apply_fact(state, one)
        if one.seq in (EVERY // 2, 2 * EVERY, 3 * EVERY - 5):
            snapshots.append(snapshot_of(state))
    for seq, read in ((3 * EVERY, 5), (3 * EVERY - 6, EVERY - 6), (EVERY, EVERY // 2), (EVERY // 2, 0)):
        tapes = Tapes(facts, *snapshots)
        assert await number_at(moments_of(tapes), seq) == (seq, seq)
        assert tapes.read == read


async def test_facts_that_cannot_be_read_are_named_and_what_was_before_is_shown() -> None:
    tapes = Tapes([*counting(3), fact(4, "from the future", {}), fact(5, "altered", {})])
    moment = await moments_of(tapes).at(S, 5)
    assert moment.state.seq == 3
    assert "from the future" in moment.trouble
