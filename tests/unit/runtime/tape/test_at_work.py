"""Whether something goes on in a session: told after every fact, and found without looking at everybody each time."""

import random

import pytest

from runtime.core.ids import SessionId
from runtime.tape.facts.registry import content_of
from runtime.tape.journal import CommitBatch, Journal
from runtime.tape.state import session as state_module
from runtime.tape.state.frames import CallKey, takes
from runtime.tape.state.session import SessionState
from tests.fakes.clock import FakeClock
from tests.unit.runtime.tape.random_facts import Facts

AGENTS = 200


async def _written(_batch: CommitBatch) -> None:
    """No commit is made."""


def journal() -> Journal:
    return Journal(SessionId("s"), FakeClock(), _written)


def plainly(state: SessionState) -> bool:
    """The same by looking at everything."""

    def has_come(key: CallKey) -> bool:
        wait, ack = state.waits[key], state.acks.get(key)
        queue = state.agents[state.frames[wait.frame].agent].queue
        if ack is not None:
            return not ack.awaited
        return wait.source is not None and any(takes(wait.source, message) for message in queue)

    resting = {wait.frame for wait in state.waits.values()} | {m.frame for m in state.meetings.values() if m.gathering}
    resting |= {frame.caller.frame for frame in state.frames.values() if frame.caller is not None}
    idle = [agent for agent in state.agents.values() if agent.has_work() and not state.roots(agent.id)]
    return bool(set(state.frames) - resting or state.intents or idle) or any(has_come(key) for key in state.waits)


@pytest.mark.parametrize("seed", range(8))
def test_whether_something_goes_on_is_known_after_every_fact(seed: int) -> None:
    told, made, draw = Facts(random.Random(seed)), journal(), random.Random(seed)
    answers = set()
    for _ in range(400):
        kind, data = told()
        made.note(content_of(kind, data))
        if draw.random() < 0.8:
            answers.add(made.at_work())
            assert made.at_work() == plainly(made.state) == made.state.at_work()
    assert True in answers


def test_a_broadcast_is_followed_without_looking_at_every_agent_after_every_fact(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, looked = journal(), [0]
    for number in range(AGENTS):
        frame = {"f": f"{number}.0", "agent": str(number), "pb": "Main", "args": [], "kwargs": {}, "version": "1"}
        made.note(content_of("agent", {"id": str(number), "class": "Main"}))
        made.note(content_of("start", {**frame}))
        made.note(
            content_of(
                "wait", {"f": f"{number}.0", "pos": "0", "name": "W", "dig": "d", "source": {"any": True}, "due": None}
            )
        )

    def counted(source: object, message: object) -> bool:
        looked[0] += 1
        return takes(source, message)  # type: ignore[arg-type]

    monkeypatch.setattr(state_module, "takes", counted)
    assert not made.at_work()
    for number in range(AGENTS):
        said = {"id": f"m{number}", "from": "0", "class": "Main", "text": "x", "at": "2026-01-01T00:00:00+00:00"}
        made.note(content_of("in", {"agent": str(number), "message": said}))
        assert made.at_work()
    for number in range(AGENTS):
        made.note(
            content_of(
                "took", {"f": f"{number}.0", "pos": "0", "name": "W", "dig": "d", "mids": [f"m{number}"], "val": None}
            )
        )
        assert made.at_work()
        made.note(
            content_of(
                "wait", {"f": f"{number}.0", "pos": "1", "name": "W", "dig": "d", "source": {"any": True}, "due": None}
            )
        )
        assert made.at_work() == (number < AGENTS - 1)
    assert looked[0] <= 8 * AGENTS


def test_waits_are_not_looked_at_while_nothing_has_come_for_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    made, looked = journal(), list[str]()
    for number in range(AGENTS):
        agent, frame = str(1000 + number), f"{1000 + number}.0"
        made.note(content_of("agent", {"id": agent, "class": "Main", "vars": {}}))
        made.note(
            content_of("start", {"f": frame, "agent": agent, "pb": "Main", "args": [], "kwargs": {}, "version": "1"})
        )
        made.note(
            content_of(
                "wait",
                {"f": frame, "pos": "0", "name": "WaitForMessage", "dig": "d", "source": {"any": True}, "due": None},
            )
        )
    monkeypatch.setattr(SessionState, "has_come", lambda _state, key: looked.append(key))
    assert not made.at_work()
    assert looked == []
