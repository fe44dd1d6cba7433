"""Facts about acknowledgements and about agents that are played in another process."""

from typing import Any

from runtime.core.ids import AgentId
from runtime.core.message import message_to_data
from runtime.tape.facts.registry import content_of
from runtime.tape.fold import apply
from runtime.tape.state.frames import CallKey
from runtime.tape.state.session import SessionState
from tests.unit.runtime.channels.messages import direct

FRAME = {"f": "1000.0", "agent": "1000", "pb": "Main", "args": [], "kwargs": {}, "version": "v"}
SITE = {"f": "1000.0", "pos": "0", "name": "Say", "dig": "d"}


def folded(*facts: tuple[str, dict[str, Any]]) -> SessionState:
    state = SessionState()
    for kind, data in facts:
        apply(state, state.seq + 1, content_of(kind, data))
    return state


def message(name: str, *, ack: bool = False) -> dict[str, Any]:
    return {**message_to_data(direct(name)), "id": name, **({"ack": True} if ack else {})}


def agents(**more: Any) -> list[tuple[str, dict[str, Any]]]:
    return [("agent", {"id": "1000", "class": "Lead"}), ("agent", {"id": "1001", "class": "Scout", **more})]


def test_a_session_has_work_until_a_message_is_in_the_mailbox_and_not_while_it_waits_there() -> None:
    told = [*agents(participant="scout"), ("in", {"agent": "1001", "message": message("a")})]
    assert folded(*told).at_work()
    told.append(("posted", {"agent": "1001", "mids": ["a", "never there"]}))
    state = folded(*told)
    assert (state.at_work(), state.agents[AgentId("1001")].posted) == (False, ["a"])
    told.append(("fetched", {"agent": "1001", "mids": ["a"]}))
    state = folded(*told)
    assert (state.agents[AgentId("1001")].queue, state.agents[AgentId("1001")].posted) == ([], [])


def test_what_was_said_before_the_end_keeps_the_session_at_work_until_it_is_posted() -> None:
    told = [*agents(participant="scout"), ("in", {"agent": "1001", "message": message("a")}), ("ended", {})]
    assert folded(*told).restless()
    assert not folded(*told, ("posted", {"agent": "1001", "mids": ["a"]})).restless()


def test_one_that_goes_on_from_another_posts_anew() -> None:
    told = [*agents(participant="scout"), ("in", {"agent": "1001", "message": message("a")})]
    told += [("posted", {"agent": "1001", "mids": ["a"]}), ("branch", {"session": "s", "seq": 4, "why": "undo"})]
    assert folded(*told).agents[AgentId("1001")].has_work()


def test_a_stop_gives_the_one_in_another_process_another_seat() -> None:
    stop = ("stop", {"agent": "1001", "drop": ["a"], "idle": True})
    told = [*agents(participant="scout"), ("in", {"agent": "1001", "message": message("a")}), stop]
    state = folded(*told)
    assert (state.agents[AgentId("1001")].stops, state.agents[AgentId("1001")].queue) == (1, [])
    assert folded(*agents(), ("stop", {"agent": "1001", "idle": True})).agents[AgentId("1001")].stops == 0


def asked(*who: str, page: str | None = None) -> list[tuple[str, dict[str, Any]]]:
    return [
        *agents(),
        ("start", FRAME),
        ("in", {"agent": "1001", "message": message("a", ack=True)}),
        ("acks", {**SITE, "message": "a", "who": list(who), "page": page, "to": "agent 1001", "due": 30.0}),
    ]


def test_a_message_that_is_consumed_is_acknowledged_and_one_that_is_dropped_never_will_be() -> None:
    consumed = folded(*asked("1001"), ("anew", {"agent": "1001", "mids": ["a"]})).acks[CallKey("1000.0", "0")]
    assert (consumed.awaited, consumed.acknowledged, consumed.refused) == ([], ["1001"], [])
    dropped = folded(*asked("1001"), ("dropped", {"agent": "1001", "mids": ["a"]})).acks[CallKey("1000.0", "0")]
    assert (dropped.awaited, dropped.acknowledged, dropped.refused) == ([], [], ["1001"])


def test_people_acknowledge_by_the_page_and_agents_do_not() -> None:
    page = ("page", {"f": "1000.0", "agent": "1000", "to": "human"})
    told = [*asked("1001", "human", page="6"), page, ("fin", {"page": "6", "text": "x"}), ("shown", {"page": "6"})]
    ack = folded(*told).acks[CallKey("1000.0", "0")]
    assert (ack.awaited, ack.acknowledged) == (["1001"], ["human"])


def test_a_call_whose_acknowledgements_have_come_is_work_and_one_that_waits_has_a_time() -> None:
    state = folded(*asked("1001"), ("anew", {"agent": "1001", "mids": []}))
    assert state.next_due() == 30.0
    assert state.agents[AgentId("1000")].last_addressed == "agent 1001"
    assert folded(*asked("1001"), ("anew", {"agent": "1001", "mids": ["a"]})).at_work()


def test_the_result_ends_the_wait_and_so_does_the_end_of_the_frame() -> None:
    state = folded(*asked("1001"), ("took", {**SITE, "mids": [], "val": {"missing": ["agent 1001"]}}))
    assert (state.acks, state.waits) == ({}, {})
    assert folded(*asked("1001"), ("ret", {"f": "1000.0", "val": None})).acks == {}
