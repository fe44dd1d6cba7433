"""Whatever people, files, agents, tools, memories and names say anywhere in a prompt: no line of it poses as ours."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings

from gateway.features.memories.node import memories_text
from runtime.core.ids import AgentId, GuestId, MeetingId, MessageId, PersonId, SessionId
from runtime.core.message import Attachment, Message, MessageType
from runtime.core.prompt_forms import LineForm
from runtime.core.quote import Quote
from runtime.execution.free.prompt import build_prompt as free_prompt
from runtime.execution.free.prompt import heard_text as heard_in_turn
from runtime.execution.free.prompt import results_text
from runtime.execution.model_calls import beginnings
from runtime.execution.processor.exchange import build_prompt, heard_text
from runtime.execution.processor.questioner import Awaited, understanding
from runtime.execution.prompt.with_files import quoted_file
from runtime.execution.questions.form import WordsQuestion, asked
from runtime.language.instructions.model import Ask
from runtime.stores.memories import MemoryScope, StoredMemory
from runtime.tape.state.frames import CallRecord, FrameState, StatementState, hand_on, past_of, said_by
from runtime.tape.state.meetings import AskState, MeetingState, SharedValue
from runtime.tape.state.people import PersonState
from runtime.tape.state.session import AgentState, SessionState
from tests.unit.runtime.execution.prompt.hostile_texts import example, hostile, taken_for_ours
from tests.unit.runtime.sessions.programs import agent, llm, program

NOW = datetime(2026, 11, 28, tzinfo=UTC)
ADA, BO = PersonId("test:ada"), PersonId("test:bo")


def heard(text: str, **more: Any) -> Message:
    fields: dict[str, Any] = {"sender_id": ADA, "sender_class": "Human", "from_human": True, "sender_name": text} | more
    return Message(MessageId("in.1"), content=text, created_at=NOW, **fields)


def messages(text: str) -> list[Message]:
    """A text in all places of all kinds of messages."""
    file = Attachment(text, text, "file:1a2b3c4d5e6f", 5, (), text)
    by_agent = {"from_human": False, "sender_id": AgentId("1001"), "sender_class": "Clerk", "sender_name": None}
    return [
        heard(text, quote=Quote("m1", text, text), looking_at=text, attachments=(file,)),
        heard(text, type=MessageType.EDITED, before=text),
        heard(text, type=MessageType.DELETED),
        heard(text, type=MessageType.REACTION, quote=Quote("m1", text, text)),
        heard(text, type=MessageType.MEETING_BROADCAST, meeting_id=MeetingId("100")),
        *(heard(text, type=kind, **by_agent) for kind in MessageType if kind not in (MessageType.REACTION,)),
    ]


def session(text: str) -> tuple[SessionState, FrameState]:
    """A session in which a text is said, known, shared and shown wherever it can be, before a playbook asks a model."""
    frame = FrameState("1000.0", AgentId("1000"), "Main", [], {"word": text}, "llm:1", turn=1)
    frame.inbox, frame.steered, frame.gave = messages(text), ["in.1"], ""
    frame.locals, frame.at = {"x": text}, "01"
    frame.records = {
        "0.0": CallRecord("Buy", "", value=text),
        "0.1": CallRecord("Pay", "", error=("ValueError", text)),
        "0.2": CallRecord("Look", "", value=text * 200),
    }
    frame.order = list(frame.records)
    frame.statements = [StatementState(f'await Say("user", """{text}""")', {}, error=("ValueError", text))]
    frame.rejections = [{"rule": "say", "message": text, "source": text}]
    frame.transcript = [*past_of(said_by(text, text)), {"heard": "(The conversation begins.)", "said": text}]
    people = {ADA: PersonState(text), BO: PersonState(text, declared="Bo")}
    state = SessionState(people=people, files=[Attachment(text, text, "file:1a2b3c4d5e6f", 5)])
    known = {"word": text, "long": text * 200, "deep": {text: [text]}}
    state.agents = {
        AgentId("1000"): AgentState(AgentId("1000"), "Host", known, artifacts={"long": text}),
        AgentId("1001"): AgentState(AgentId("1001"), "Clerk"),
    }
    state.meetings = {
        "100": MeetingState("100", text, AgentId("1000"), "1000.0", "active", joined=[AgentId("1000"), ADA]),
        "101": MeetingState("101", text, AgentId("1001"), "1000.0", "active", invited={AgentId("1000"): ""}),
    }
    state.meetings["100"].asks = {BO: AskState(ADA), GuestId.of("Scout"): AskState(ADA)}
    state.meetings["100"].invited = {BO: text}
    state.meetings["100"].shared = {text: SharedValue(text, 1, ADA)}
    state.frames = {"1000.0": frame}
    frame.gave = results_text(frame)
    frame.heard = "\n".join([heard_text(state, frame.inbox), heard_in_turn(frame)])
    called = FrameState("1000.0:0.1", AgentId("1000"), "Inner", [], {}, "llm:1")
    hand_on(called, frame, text)
    return state, frame


def prompts(text: str) -> list[str]:
    """All that a model is told by others than the author, in several situations."""
    state, frame = session(text)
    made = program(agent("Host", llm("Main")), agent("Clerk", llm("Help")))
    free = free_prompt(made, made.agents[0], state, frame, "settle it", "")
    memory = StoredMemory("m", MemoryScope("person", "ada"), "ada", text, text, 0.0, "c", SessionId("s"))
    awaited = Awaited("01", Ask((), None, ()), "", "Well?", text, 0, {"amount": "int"}, "", {}, {}, "", unread=False)
    begun = WordsQuestion(("01", "words"), "Write.", begun=text)
    questions = asked([understanding(awaited)], wrong=text), asked([begun])
    walked = build_prompt("", state, frame, state.agents[frame.agent].variables, "\n".join(questions))
    told = [message.content for message in (*free, *walked) if message.role == "user"]
    file = Attachment(text, "text/plain", "file:1a2b3c4d5e6f", 5)
    return [*told, memories_text([memory]), quoted_file(file, text), beginnings(frame.transcript, 6_000)]


@settings(max_examples=60, deadline=None)
@given(hostile)
def test_no_line_of_others_is_taken_for_ours(text: str) -> None:
    assert len(taken_for_ours(prompts(text))) == len(taken_for_ours(prompts("Well")))


@pytest.mark.parametrize("form", LineForm, ids=lambda form: form.name)
def test_no_form_can_be_forged(form: LineForm) -> None:
    assert len(taken_for_ours(prompts(f"Well\n{example(form)}"))) == len(taken_for_ours(prompts("Well")))


def test_the_reader_of_these_tests_takes_our_lines_for_ours() -> None:
    looks_different = {
        LineForm.QUOTED,
        LineForm.FILE,
        LineForm.FILE_NOTE,
        LineForm.MARKED,
        LineForm.PERSON,
        LineForm.AGENT,
        LineForm.TASK,
        LineForm.ORDERER,
        LineForm.SPEAK,
        LineForm.MEETING,
    }
    lines = [example(form) for form in LineForm if form not in looks_different]
    assert taken_for_ours(lines) == lines
