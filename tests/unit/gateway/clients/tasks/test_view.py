"""A task as its client sees it, from its facts."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

from gateway.clients.tasks.view import MAX_SAID, QuestionOfTask, TaskView, TaskViews
from runtime.core.address import CLIENT, Address
from runtime.core.ids import AgentId, PersonId, SessionId
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.frames import QuestionAsked, QuestionAskedAgain
from runtime.tape.facts.people import MessageHeard, PageBegun, PageFinished
from runtime.tape.facts.session import SessionEnded
from runtime.tape.facts.tasks import OrderAsks, OrderOver, OrderTaken, TaskAsks, TaskOrdered, TaskOver
from runtime.tape.tape import Fact, session_tape

T0 = datetime(2026, 11, 23, tzinfo=UTC)
HOME = Address(CLIENT, "ci")
BEGUN = OrderTaken(0, SessionId(""), HOME, HOME, 0.0, 1)


def facts(*contents: FactContent, session: str = "aaaaaaaa-1") -> list[Fact]:
    tape = session_tape(SessionId(session))
    return [Fact(tape, seq, one.kind, T0, one.data()) for seq, one in enumerate(contents, 1)]


def seen(*contents: FactContent) -> TaskView:
    view = TaskView()
    for fact in facts(*contents):
        view.note(fact)
    return view


def begun(to: str = "user") -> PageBegun:
    return PageBegun("1000.0", "1000", to)


def ordered(task: str) -> TaskOrdered:
    return TaskOrdered(AgentId("1000"), SessionId(task), "Runner", "Fetch", {}, 0.0, "caller", 1)


def test_a_task_works_until_its_order_is_over() -> None:
    assert TaskView().status == "submitted"
    assert seen(BEGUN).status == "working"
    done = seen(BEGUN, OrderOver("completed", [1]), SessionEnded())
    assert (done.status, done.value, done.over) == ("completed", [1], True)
    failed = seen(BEGUN, OrderOver("failed", error="it broke"))
    assert (failed.status, failed.error) == ("failed", "it broke")
    assert seen(BEGUN, SessionEnded()).status == "completed"


def test_what_agents_say_is_seen_once_it_is_finished_and_nothing_else() -> None:
    view = seen(
        BEGUN,
        begun(),
        PageFinished("2", "hello"),
        begun("notice"),
        PageFinished("4", "a notice"),
        MessageHeard("in.1", AgentId("1000"), PersonId("client:ci"), "ci", True, "left"),
        begun(),
    )
    assert [(said.seq, said.text, said.own) for said in view.said] == [(3, "hello", True), (6, "left", False)]


def test_the_utterances_at_hand_are_bounded() -> None:
    view = seen(BEGUN, *(one for n in range(MAX_SAID + 5) for one in (begun(), PageFinished(str(2 * n + 2), str(n)))))
    assert (len(view.said), view.said[0].text, view.said[-1].text) == (MAX_SAID, "5", str(MAX_SAID + 4))


def test_a_question_is_open_from_asking_to_its_answer_also_on_another_page() -> None:
    asked = (BEGUN, begun("ask"), QuestionAsked("1000.0", "0", "2", "Which way?", ["left", "right"]))
    assert seen(*asked).status == "working"
    view = seen(*asked, OrderAsks("aaaaaaaa.2"))
    assert view.status == "input_required"
    assert view.asks == {"aaaaaaaa.2": QuestionOfTask("aaaaaaaa.2", "Which way?", ("left", "right"))}
    moved = (QuestionAskedAgain("1000.0", "0", "5"), OrderAsks("aaaaaaaa.2", over=True), OrderAsks("aaaaaaaa.5"))
    assert [one.text for one in seen(*asked, OrderAsks("aaaaaaaa.2"), *moved).asks.values()] == ["Which way?"]
    assert seen(*asked, OrderAsks("aaaaaaaa.2"), OrderAsks("aaaaaaaa.2", over=True)).status == "working"
    assert seen(*asked, OrderAsks("aaaaaaaa.2"), OrderOver("canceled")).asks == {}


def test_a_question_of_a_task_of_the_task_is_open_until_that_one_is_over() -> None:
    asks = (BEGUN, ordered("bbbbbbbb-1"), TaskAsks(1, "bbbbbbbb.2"))
    view = seen(*asks)
    assert view.status == "input_required"
    assert view.asks["bbbbbbbb.2"].asker == "bbbbbbbb-1"
    assert seen(*asks, TaskOver(1, "failed")).status == "working"
    assert seen(*asks, TaskAsks(1, "bbbbbbbb.2", over=True)).status == "working"


def test_a_fact_that_comes_again_changes_nothing() -> None:
    view = seen(BEGUN, begun(), PageFinished("2", "hello"))
    for fact in facts(BEGUN, begun(), PageFinished("2", "hello")):
        view.note(fact)
    assert len(view.said) == 1


class Tapes:
    """Tapes in memory that count the facts they give."""

    def __init__(self, **sessions: list[Fact]) -> None:
        self.sessions = sessions
        self.given = 0

    async def read_session(
        self, session: SessionId, *, after: int = 0, until: int | None = None
    ) -> AsyncIterator[Fact]:
        for fact in self.sessions[session]:
            if fact.seq > after:
                self.given += 1
                yield fact

    def read_tape(self, tape: str, *, after: int = 0) -> AsyncIterator[Fact]:
        raise NotImplementedError


async def test_looking_again_reads_only_what_is_new_and_each_who_looks_has_a_view_of_their_own() -> None:
    tapes = Tapes(a=facts(BEGUN, begun(), PageFinished("2", "hello")))
    views = TaskViews(tapes)
    first = await views.view(SessionId("a"))
    first.said.clear()
    first.asks["x"] = QuestionOfTask("x")
    again = await views.view(SessionId("a"))
    assert (tapes.given, len(again.said), again.asks) == (3, 1, {})


async def test_the_words_of_a_question_are_found_with_the_task_that_asks_it() -> None:
    deep = facts(
        BEGUN,
        begun("ask"),
        QuestionAsked("1000.0", "0", "2", "Which way?", ["left"]),
        OrderAsks("cccccccc.2"),
        session="c",
    )
    tapes = Tapes(
        a=facts(BEGUN, ordered("b"), TaskAsks(1, "cccccccc.2")),
        b=facts(BEGUN, ordered("c"), TaskAsks(1, "cccccccc.2"), session="b"),
        c=deep,
    )
    views = TaskViews(tapes)
    asked = (await views.view(SessionId("a"))).asks["cccccccc.2"]
    found = await views.question(asked)
    assert (found.ask, found.text, found.options) == ("cccccccc.2", "Which way?", ("left",))
