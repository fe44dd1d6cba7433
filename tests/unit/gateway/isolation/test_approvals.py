"""What people have allowed an isolated task, before a process that writes what it likes on its tape."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.isolation.node.approvals import Approvals
from runtime.core.address import Address
from runtime.core.errors import TaskRefused
from runtime.core.ids import AgentId, MessageId, PersonId, SessionId
from runtime.core.message import Choice, Message, MessageType, Quote
from runtime.core.texts import english
from runtime.stores.inbox import InboxEntry, InboxEvent
from runtime.tape.facts.agents import MessageQueued
from runtime.tape.facts.calls import EffectIntended, QuestionAsked
from runtime.tape.facts.content import Content
from runtime.tape.facts.frames import FrameStarted
from runtime.tape.facts.pages import PartSent
from runtime.tape.tape import Fact, session_tape

NOW = datetime(2026, 11, 23, tzinfo=UTC)
TASK, HOME = SessionId("t" * 32), Address("task", "t" * 32)
BREAD = {"what": "bread"}
QUESTION = '🔧 I want to call Weather.buy(what="bread"). Is that allowed?'
ASKED = f"Task 1 (Buyer.Weather.buy) asks: {QUESTION}"
YES_NO = ["Allow", "Do not allow"]
KEY = "t.9"
CALL = FrameStarted("f2", AgentId("1000"), "Weather.buy", [], BREAD, "remote - -")
ASKS = QuestionAsked("f2", "may", "4", ASKED, YES_NO)
INTENDED = EffectIntended("f2", "0", "Weather.buy", "", KEY)


def fact(content: Content) -> Fact:
    return Fact(session_tape(TASK), 1, content.kind, NOW, content.data())


def entry(**more: Any) -> InboxEntry:
    wanted: dict[str, Any] = {"kind": "choice", "choice": "tttttttt.4.0", **more}
    return InboxEntry(1, "1-0", InboxEvent("e1", HOME, "web:1", "Ada", wanted.pop("text", "Allow"), NOW, **wanted))


def answer(content: str = "Allow", event: str = "e1", page: str = "4") -> MessageQueued:
    message = Message(
        MessageId(f"in.{event}"), PersonId("web:1"), "human", content, NOW, type=MessageType.CHOICE, answers=page
    )
    return MessageQueued(AgentId("1000"), message)


def told(*facts: Content, given: tuple[InboxEntry, ...] = (entry(),)) -> Approvals:
    made = Approvals()
    for one in facts:
        made.read(fact(one), given)
    return made


def allowed(made: Approvals, name: str = "Weather.buy", key: str = KEY, **arguments: Any) -> bool:
    return made.allowed(name, arguments or BREAD, key, english())


def test_a_call_that_people_have_allowed_may_be_made_under_its_key() -> None:
    made = told(CALL, ASKS, answer(), INTENDED)
    assert allowed(made)
    assert not allowed(made, key="t.10")
    assert not allowed(made, what="gold")
    assert not allowed(made, "Weather.sell")


def test_the_tape_says_the_same_after_a_restart() -> None:
    made = Approvals()
    for one in (CALL, ASKS, answer(), INTENDED):
        made.read(fact(one))
    assert allowed(made)


@pytest.mark.parametrize(
    "given",
    [
        (),
        (entry(choice="tttttttt.4.1"),),
        (entry(choice="tttttttt.5.0"),),
        (entry(kind="message", choice="tttttttt.4."),),
        (entry(kind="message", choice="tttttttt.4.", quote=Quote("m9", "Ada", "Tea?")),),
    ],
    ids=["no event", "another option", "another question", "words to nothing", "words to another message"],
)
def test_an_answer_that_nobody_has_given_is_not_written(given: tuple[InboxEntry, ...]) -> None:
    with pytest.raises(TaskRefused, match="Nobody has given this answer"):
        told(CALL, ASKS, answer(), given=given)


def test_words_that_reply_to_the_question_are_an_answer() -> None:
    made = Approvals()
    made.sent("4", "m1")
    given = [entry(kind="message", text="yes", choice="tttttttt.4.", quote=Quote("m1", "Buyer", ASKED))]
    for one in (CALL, ASKS, PartSent("4", 0, "m1"), answer("yes"), INTENDED):
        made.read(fact(one), given)
    assert allowed(made)
    with pytest.raises(TaskRefused, match="No such message was sent"):
        told(CALL, ASKS, PartSent("4", 0, "m9"))


@pytest.mark.parametrize(
    ("asks", "call"),
    [
        (QuestionAsked("f2", "may", "4", "Do you like tea?", YES_NO), CALL),
        (QuestionAsked("f2", "may", "4", f"{ASKED} It is for tea.", YES_NO), CALL),
        (QuestionAsked("f2", "may", "4", f"{'tea ' * 60}{ASKED}", YES_NO), CALL),
        (QuestionAsked("f2", "may", "4", ASKED, ["Allow", "Allow it"]), CALL),
        (ASKS, FrameStarted("f2", AgentId("1000"), "Weather.buy", [], {"what": "gold"}, "")),
        (ASKS, FrameStarted("f2", AgentId("1000"), "Buyer.Buy", [], BREAD, "")),
    ],
    ids=["another text", "more behind it", "much before it", "other options", "other arguments", "another call"],
)
def test_an_answer_to_anything_else_allows_nothing(asks: QuestionAsked, call: FrameStarted) -> None:
    assert not allowed(told(call, asks, answer(), INTENDED))


def test_a_page_asks_one_question_and_shows_it_as_it_is_on_the_tape() -> None:
    made = told(CALL, ASKS)
    choices = [Choice(f"tttttttt.4.{index}", label) for index, label in enumerate(YES_NO)]
    made.check_shown("4", ASKED, choices)
    made.check_shown("7", "Which way?", [Choice("tttttttt.7.free", "", free=True)])
    swapped = [Choice(choices[0].id, "Do not allow"), Choice(choices[1].id, "Allow")]
    elsewhere = [Choice(f"tttttttt.5.{index}", label) for index, label in enumerate(YES_NO)]
    for page, text, shown in (
        ("4", "Do you like tea?", choices),
        ("4", ASKED, swapped),
        ("4", ASKED, elsewhere),
        ("5", "Do you like tea?", elsewhere),
    ):
        with pytest.raises(TaskRefused, match="as it is on the tape"):
            made.check_shown(page, text, shown)
    with pytest.raises(TaskRefused, match="one question"):
        made.read(fact(QuestionAsked("f2", "may", "4", "Do you like tea?", YES_NO)), [])
