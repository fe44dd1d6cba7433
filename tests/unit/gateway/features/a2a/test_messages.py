"""Messages of clients as orders, and tasks as the protocol writes them. What an agent says comes in pieces to who
follows its task, and is put together as the protocol says.
"""

from typing import Any

import jsonschema
import pytest
from a2a.types import Message, Part, Role, Task, TaskArtifactUpdateEvent, TaskState
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct, Value

from gateway.clients.tasks.service import ClientTask
from gateway.clients.tasks.view import QuestionOfTask, TaskUtterance, TaskView
from gateway.features.a2a.messages import (
    JSONRPC,
    GrowingTexts,
    Mark,
    Named,
    Skill,
    card_of,
    order_of,
    skills_of,
    task_of,
    updates_of,
)
from runtime.core.address import CLIENT, Address
from runtime.core.ids import SessionId
from runtime.language.diagnostics import Span
from runtime.language.program import Param, PlaybookSpec
from runtime.tape.facts.content import FactContent
from runtime.tape.facts.people import PageBegun, PageClosed, PageFinished, PageGrew
from runtime.tape.facts.tasks import OrderOver
from runtime.tape.state.tasks import TaskStatus
from runtime.tape.tape import Fact, session_tape
from tests.contract.storage_samples import T0
from tests.fakes.protocols.a2a_schema import validate
from tests.unit.runtime.sessions import programs as small

BRING = Skill("p", "A", PlaybookSpec("Bring", "python", Span("p.pb", 1), (Param("what"), Param("times", default="1"))))
IDLE = Skill("p", "A", PlaybookSpec("Idle", "python", Span("p.pb", 1)))

TASK = SessionId("t")


def message(*parts: Part, skill: str = "") -> Message:
    made = Message(message_id="1", role=Role.ROLE_USER, parts=parts)
    if skill:
        made.metadata.CopyFrom(ParseDict({"skill": skill}, Struct()))
    return made


def data(value: Any) -> Part:
    return Part(data=ParseDict(value, Value()))


def arguments(*parts: Part, skill: Skill = BRING) -> Any:
    return order_of(message(*parts), {skill.id: skill}, {})["arguments"]


@pytest.mark.parametrize(
    ("parts", "given"),
    [
        ([Part(text="a box")], {"what": "a box"}),
        ([Part(text="a"), Part(text="box")], {"what": "a\nbox"}),
        ([data({"what": "a box", "times": 2})], {"what": "a box", "times": 2}),
        ([data({"times": 2.5}), Part(text="a box")], {"what": "a box", "times": 2.5}),
        ([data({"what": ["a", {"b": 1}]}), Part(text="3")], {"what": ["a", {"b": 1}], "times": "3"}),
    ],
)
def test_data_are_arguments_and_a_text_is_the_first_that_is_free(parts: list[Part], given: dict[str, Any]) -> None:
    found = arguments(*parts)
    assert found == given
    assert {name: type(value) for name, value in found.items()} == {name: type(value) for name, value in given.items()}


def test_a_message_that_is_no_order_is_refused() -> None:
    with pytest.raises(InvalidParamsError, match="takes no text"):
        arguments(Part(text="x"), skill=IDLE)
    with pytest.raises(InvalidParamsError, match="Data is an object"):
        arguments(data([1]))
    with pytest.raises(ContentTypeNotSupportedError):
        arguments(Part(raw=b"x", filename="map"))


def test_the_skill_is_named_unless_there_is_one_alone() -> None:
    both = {skill.id: skill for skill in (BRING, IDLE)}
    assert order_of(message(data({}), skill="p.A.Idle"), both, {"key": "k"}) == {
        "program": "p",
        "agent": "A",
        "playbook": "Idle",
        "arguments": {},
        "key": "k",
    }
    for unknown in ("", "p.A.Other"):
        with pytest.raises(InvalidParamsError, match=r"there are: p\.A\.Bring, p\.A\.Idle"):
            order_of(message(data({}), skill=unknown), both, {})
    with pytest.raises(InvalidParamsError, match="there are: none"):
        order_of(message(data({})), {}, {})


def seen(status: TaskStatus, *, question: QuestionOfTask | None = None, **more: Any) -> ClientTask:
    view = TaskView(5, status, T0, home=Address(CLIENT, "ci", "ctx"), **more)
    return ClientTask(SessionId("t"), "p", view, question)


def shown(task: ClientTask) -> Task:
    made = task_of(task, Named.of(task))
    validate("Task", MessageToDict(made))
    return made


@pytest.mark.parametrize(
    "status", ["submitted", "working", "input_required", "completed", "failed", "canceled", "rejected"]
)
def test_every_status_is_the_state_of_the_same_name(status: TaskStatus) -> None:
    made = shown(seen(status))
    assert TaskState.Name(made.status.state) == f"TASK_STATE_{status.upper()}"
    assert (made.id, made.context_id) == ("t", "ctx")


@pytest.mark.parametrize("value", ["north", {"a": [1, 2.5, None, True]}, [], 0, False, ""])
def test_a_value_is_an_artifact(value: Any) -> None:
    (artifact,) = shown(seen("completed", value=value)).artifacts
    part = MessageToDict(artifact.parts[0])
    assert part.get("text", part.get("data")) == value


def test_no_value_is_no_artifact_and_a_deep_one_is_a_text() -> None:
    assert not shown(seen("completed")).artifacts
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    assert shown(seen("completed", value=deep)).artifacts[0].parts[0].data.string_value.startswith("[[[")


def test_what_is_new_comes_in_order_and_once() -> None:
    said = [
        TaskUtterance(2, T0, "before", own=True),
        TaskUtterance(4, T0, "mine", own=False),
        TaskUtterance(5, T0, "after", own=True),
    ]
    asks = seen("input_required", said=said, question=QuestionOfTask("q", "Where?", ("left",)))
    updates = list(updates_of(asks, Named.of(asks), Mark(3, "working", None)))
    texts = [[part.text for part in one.status.message.parts] for one in updates if not isinstance(one, Task)]
    assert texts == [["after"], ["Where?", ""]]
    for one in updates:
        validate(type(one).__name__, MessageToDict(one))
    assert list(updates_of(asks, Named.of(asks), Mark.of(asks))) == []
    assert [each.role for each in shown(asks).history] == [Role.ROLE_AGENT, Role.ROLE_USER, Role.ROLE_AGENT]


def test_only_programs_that_say_so_have_skills_and_only_their_public_playbooks() -> None:
    agent = small.agent("A", small.python("Open", public=True), small.python("Own"), code="")
    silent = small.program(agent)
    assert skills_of([silent]) == {}
    loud = type(silent)("loud", (agent,), "", "", {"a2a": True})
    odd = type(silent)("odd", (agent,), "", "", {"a2a": "yes"})
    assert list(skills_of([silent, loud, odd])) == ["loud.A.Open"]
    card = card_of(skills_of([loud]), "https://p.example", pushes=False)
    validate("AgentCard", MessageToDict(card))
    assert card.supported_interfaces[0].url == f"https://p.example{JSONRPC}"
    assert not card.capabilities.push_notifications


@pytest.mark.parametrize(
    "wrong",
    [
        {"messageId": "1", "role": "ROLE_USER"},
        {"messageId": "1", "role": "ROLE_UNSPECIFIED", "parts": [{"text": "a"}]},
        {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "a", "url": "b"}]},
        {"messageId": "1", "role": "ROLE_USER", "parts": [{"kind": "text", "text": "a"}]},
        {"message_id": "1", "role": "ROLE_USER", "parts": [{"text": "a"}]},
        {"messageId": "1", "role": "ROLE_USER", "parts": []},
    ],
)
def test_the_schema_that_messages_are_checked_against_refuses_others(wrong: dict[str, Any]) -> None:
    validate("Message", {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "a"}]})
    with pytest.raises(jsonschema.ValidationError):
        validate("Message", wrong)


class Followed:
    """A task, fact by fact, and its follower from some fact on."""

    def __init__(self, *before: FactContent) -> None:
        self.task = ClientTask(TASK, "desk", TaskView())
        self.note(*before)
        self._growing = GrowingTexts(self.task)

    def note(self, *contents: FactContent) -> None:
        for one in contents:
            seq = self.task.view.seq + 1
            self.task.view.note(Fact(session_tape(TASK), seq, one.kind, T0, one.data()))

    def after(self, *contents: FactContent) -> list[tuple[str, bool, bool]]:
        """The pieces that come of these facts: text, whether it is appended, whether it is the last."""
        self.note(*contents)
        return [self._piece(update) for update in self._growing.updates(self.task, "c")]

    def _piece(self, update: TaskArtifactUpdateEvent) -> tuple[str, bool, bool]:
        validate("TaskArtifactUpdateEvent", MessageToDict(update))
        assert update.artifact.artifact_id == "t.1"
        return update.artifact.parts[0].text, update.append, update.last_chunk


BEGUN = PageBegun("1000.0", "1000", "user")


def test_pieces_are_appended_and_the_message_of_the_same_id_has_them_all() -> None:
    followed = Followed(BEGUN)
    assert followed.after(PageGrew("1", 0, "Once ")) == [("Once ", False, False)]
    assert followed.after(PageGrew("1", 5, "there ")) == [("there ", True, False)]
    assert followed.after(PageFinished("1", "Once there was.")) == [("was.", True, True)]
    assert followed.after() == []
    task = task_of(followed.task, Named("t", "c"))
    assert [(one.message_id, one.parts[0].text) for one in task.history] == [("t.1", "Once there was.")]
    assert not task.artifacts


def test_who_follows_later_goes_on_from_what_the_task_has() -> None:
    followed = Followed(BEGUN, PageGrew("1", 0, "Once "))
    artifacts = task_of(followed.task, Named("t", "c")).artifacts
    assert [(one.artifact_id, one.parts[0].text) for one in artifacts] == [("t.1", "Once ")]
    assert followed.after(PageGrew("1", 5, "there ")) == [("there ", True, False)]


def test_a_text_that_became_another_one_takes_the_place_of_what_was_told() -> None:
    followed = Followed(BEGUN, PageGrew("1", 0, "Once there "))
    assert followed.after(PageGrew("1", 0, "Long ago")) == [("Long ago", False, False)]
    assert followed.after(PageFinished("1", "Now")) == [("Now", False, True)]


def test_what_is_broken_off_ends_as_it_was_to_be_read_and_what_nobody_read_is_not_said() -> None:
    followed = Followed(BEGUN, PageGrew("1", 0, "Once "))
    assert followed.after(PageClosed("1", "Once \N{BLACK SQUARE FOR STOP}")) == [
        ("\N{BLACK SQUARE FOR STOP}", True, True)
    ]
    unread = Followed(BEGUN)
    assert unread.after(PageClosed("1", "")) == []
    assert not unread.task.view.said


def test_what_is_finished_at_once_comes_in_no_pieces_and_a_task_that_is_over_grows_no_more() -> None:
    followed = Followed(BEGUN)
    assert followed.after(PageFinished("1", "hello")) == []
    cut = Followed(BEGUN, PageGrew("1", 0, "Once "))
    assert cut.after(OrderOver("failed", error="it ran out of time")) == []
    assert not task_of(cut.task, Named("t", "c")).artifacts
