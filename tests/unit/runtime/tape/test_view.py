"""Which facts other programs see as events."""

import pytest

from runtime.core.address import Address
from runtime.core.cloud_event import event_from, is_pattern, matches
from runtime.core.ids import AgentId, PersonId, SessionId, schedule_id
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import CallReturned, EffectIntended, FrameReturned, FrameStarted
from runtime.tape.facts.people import MessageHeard
from runtime.tape.facts.session import AgentCreated, ProgramBroken
from runtime.tape.facts.tasks import OrderBegun, OrderOver, OrderTaken
from runtime.tape.journal import CommitBatch, Journal
from runtime.tape.state.frames import RaisedAt
from runtime.tape.view import event_of
from tests.fakes.clock import FakeClock

AGENT = AgentId("1000")
FRAME = "1000.0"
HERE = Address("web", "lobby")


async def _kept(batch: CommitBatch) -> None:
    del batch


def started(frame: str) -> FrameStarted:
    return FrameStarted(frame, AGENT, "Main", [], {}, "v")


def events(*facts: FactContent, seen: bool = True) -> list[str]:
    """The events of facts, each as `type subject data words`."""
    journal = Journal(SessionId("s"), FakeClock(), _kept, seen=seen)
    for fact in (AgentCreated(AGENT, "Greeter"), *facts):
        journal.note(fact)
    batch = journal._take()
    found = []
    for seq, type_ in batch.events:
        stored = batch.facts[seq - 1]
        assert stored.seq == seq
        event = event_of(stored, type_)
        found.append(f"{event.type} {event.subject} {event.data} {event.words}")
    return found


SPAWNED = "agent.spawn 1000 {'class': 'Greeter'} None"


def heard(person: PersonId) -> MessageHeard:
    return MessageHeard("in.1", AGENT, person, "Ada", True, "Hello")


def test_nothing_is_looked_for_where_nobody_sees_it() -> None:
    assert events(heard(PersonId("web:1")), seen=False) == []


def test_what_a_person_writes_and_what_a_schedule_does_are_told_apart() -> None:
    person, schedule = PersonId("web:1"), schedule_id("standup")
    words = "{'name': 'Ada', 'text': 'Hello'}"
    assert events(heard(person), heard(schedule)) == [
        SPAWNED,
        f"human.message 1000 {{'person': 'web:1', 'private': True, 'message': 'in.1'}} {words}",
        f"cron.trigger 1000 {{'person': 'schedule:standup', 'private': True, 'message': 'in.1'}} {words}",
    ]


def test_an_agent_is_done_or_failed_when_a_playbook_returns_that_no_other_called() -> None:
    outer, inner = started(FRAME), started(f"{FRAME}:1")
    returned = [FrameReturned(f"{FRAME}:1", 1), FrameReturned(FRAME, 2)]
    assert events(outer, inner, *returned)[1:] == [f"agent.done 1000 {{'playbook_frame': '{FRAME}'}} {{'value': 2}}"]
    failed = FrameReturned(FRAME, error=("ValueError", "no"), raised_at=RaisedAt("Shop", "Ship", "Ship:02:EXE"))
    data = f"{{'playbook_frame': '{FRAME}', 'error_type': 'ValueError', 'raised_at': 'Shop: Ship:02:EXE'}}"
    assert events(outer, failed)[1:] == [f"agent.error 1000 {data} {{'error': 'no'}}"]


@pytest.mark.parametrize(
    ("returned", "over", "told"),
    [
        (
            FrameReturned(FRAME, 7),
            OrderOver("completed", 7),
            "agent.done None {'task_status': 'completed'} {'value': 7}",
        ),
        (
            FrameReturned(FRAME, error=("ValueError", "no")),
            OrderOver("failed", error="no", error_type="ValueError", raised_at=RaisedAt("Shop", "Ship")),
            "agent.error None {'task_status': 'failed', 'error_type': 'ValueError', 'raised_at': 'Shop: Ship'} "
            "{'error': 'no'}",
        ),
        (None, OrderOver("canceled"), "agent.error None {'task_status': 'canceled'} {'error': ''}"),
    ],
)
def test_the_end_of_a_task_is_told_once(returned: FactContent | None, over: FactContent, told: str) -> None:
    order = OrderTaken(1, SessionId("o"), HERE, HERE, 60.0, 1)
    facts = [order, started(FRAME), OrderBegun(FRAME), *([] if returned is None else [returned]), over]
    assert events(*facts)[1:] == [told]


def test_only_calls_with_an_effect_outside_are_results_of_tools() -> None:
    call = (FRAME, "1.0", "Weather.forecast", "digest")
    plain = CallReturned(FRAME, "1.1", "Now", "digest", "noon")
    facts = [started(FRAME), EffectIntended(*call, "key"), CallReturned(*call, "rain"), plain]
    assert events(*facts)[1:] == ["tool.result 1000 {'tool': 'Weather.forecast', 'ok': True} {'value': 'rain'}"]


def test_a_program_that_cannot_go_on_is_an_error_of_no_agent() -> None:
    assert events(ProgramBroken("It is gone."))[1:] == [
        "agent.error None {'error_type': 'ProgramBroken'} {'error': 'It is gone.'}"
    ]


@pytest.mark.parametrize(
    ("pattern", "name", "means"),
    [
        ("agent.done", "agent.done", True),
        ("agent.*", "agent.done", True),
        ("agent.*", "agent", False),
        ("agent.*", "agent.done.late", False),
        ("*.done", "agent.done", True),
        ("agent.>", "agent.done.late", True),
        ("agent.>", "agent", False),
        (">", "agent", True),
        (">", "a.b.c", True),
        ("*", "a.b", False),
    ],
)
def test_a_star_is_one_word_and_an_arrow_the_rest(pattern: str, name: str, means: bool) -> None:
    assert is_pattern(pattern)
    assert matches(pattern, name) is means


@pytest.mark.parametrize("text", ["", ".", "a..b", ">.a", "a>", "a.>.b", "a b", "a*"])
def test_other_texts_are_no_patterns(text: str) -> None:
    assert not is_pattern(text)


@pytest.mark.parametrize(
    "written",
    [
        [],
        {},
        {"id": "1"},
        {"type": "a"},
        {"id": "1", "type": ".a"},
        {"id": 1, "type": "a"},
        {"id": "1", "type": "a", "specversion": "0.3"},
        {"id": "1", "type": "a", "time": "noon"},
        {"id": "1", "type": "a", "data": "x" * 70_000},
        {"id": "1\n", "type": "a"},
    ],
)
def test_what_is_no_event_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match=r"event|is |has "):
        event_from(written, source="/clients/ada", now=FakeClock().now())


def test_nobody_sends_events_of_another_source() -> None:
    foreign = {"id": "1", "type": "a", "source": "/sessions/s"}
    with pytest.raises(PermissionError, match="/clients/ada"):
        event_from(foreign, source="/clients/ada", now=FakeClock().now())
