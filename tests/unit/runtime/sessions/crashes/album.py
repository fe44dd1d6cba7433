"""A world that keeps every snapshot, and what snapshots have to say."""

from collections.abc import Iterable, Sequence

from runtime.core.ids import SessionId
from runtime.stores.sessions import Lease
from runtime.tape.fold import apply_fact
from runtime.tape.snapshot import Snapshot, snapshot_of, state_from
from runtime.tape.state.session import SessionState
from runtime.tape.tape import Fact, tape_owner
from tests.fakes.crashes.world import World
from tests.sampling import sample


class Album(World):
    """Keeps every snapshot that was ever taken, and which ones were asked for."""

    def __init__(self, people: Sequence[str], *, crashes: Sequence[int] = (), seed: int = 0) -> None:
        super().__init__(people, crashes=crashes, seed=seed)
        self.taken: list[tuple[SessionId, Snapshot]] = []
        self.taken_of: list[str | None] = []
        self.used = 0

    async def keep_snapshot(
        self, lease: Lease, session: SessionId, snapshot: Snapshot, /, *, taken_in: str | None = None
    ) -> None:
        self.taken.append((session, snapshot))
        self.taken_of.append(taken_in)
        await super().keep_snapshot(lease, session, snapshot, taken_in=taken_in)

    async def snapshot(self, session: SessionId, version: str, /) -> Snapshot | None:
        found = await super().snapshot(session, version)
        self.used += found is not None
        return found

    def check_taken(self) -> None:
        """Each snapshot says what the facts up to it say."""
        for session, taken in self.taken:
            assert state_from(taken) == folded(self.told_of(session)[: taken.seq])

    def check_cuts(self) -> None:
        """A snapshot after any fact and the rest of the facts say what all facts say."""
        for session in {tape_owner(fact.tape) for fact in self.facts}:
            facts = self.told_of(session)
            whole = folded(facts)
            for cut in sample().of(range(len(facts) + 1)):
                restored = state_from(snapshot_of(folded(facts[:cut])))
                assert restored is not None
                assert folded(facts[cut:], restored) == whole, f"cut after fact {cut}"


def folded(facts: Iterable[Fact], state: SessionState | None = None) -> SessionState:
    """What facts make of a state."""
    state = state or SessionState()
    for fact in facts:
        apply_fact(state, fact)
    return state
