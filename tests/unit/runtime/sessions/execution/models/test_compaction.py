"""What a long conversation is told of its own past: a summary and the latest turns. The facts stay."""

import random
import re
from dataclasses import dataclass, replace
from typing import Any

import pytest
from msgspec import structs

from runtime.core.errors import ContextTooLong, LLMUnavailable
from runtime.execution.execution_context import ExecutionContext
from runtime.execution.frames.frame import Frame
from runtime.execution.free import interpreter
from runtime.execution.model_calls import MAX_SUMMARY_CHARS, ModelCalls, TranscriptCompaction, beginnings
from runtime.llm.client import CompletionRequest, Usage
from runtime.sandbox.monty import MontySandbox
from runtime.tape.fold import apply_fact
from runtime.tape.state.session import SessionState
from tests.fakes.crashes.world import Scripted, World, live
from tests.fakes.people.talk import Model, Reply, Talk, block, talking
from tests.sampling import sample
from tests.unit.runtime.execution.processor.walking import main, walking
from tests.unit.runtime.sessions.programs import agent, llm, program

CHAT = program(agent("Main", llm("Main", "01:QUE Do what is said; YLD for user", begins=True)))
BUDGET = 2_000
LONG = "x" * 400
"""A turn takes about 530 characters."""

SUMMARY = "Ada likes the number 17."


def answer(text: str) -> Reply:
    return block('await Step("Main:01:QUE")', f'await Say("user", "{text}")', 'await Yld("user")')


class Summing(Model):
    """Sums up whenever it is asked to."""

    def stream(self, request: CompletionRequest, /) -> Any:
        if request.purpose == "summarize":
            self._replies.insert(0, Reply(SUMMARY))
        return super().stream(request)


async def long_talk(talk: Talk, turns: int) -> None:
    for number in range(turns):
        assert await talk.say(f"message {number} {LONG}") == [f"answer {number}"]


def answers(first: int, last: int) -> list[Reply]:
    return [answer(f"answer {number}") for number in range(first, last)]


async def test_a_past_that_is_too_long_is_told_by_a_summary_from_then_on() -> None:
    model = Model(*answers(0, 5), Reply(SUMMARY), *answers(5, 7))
    async with talking(CHAT, model, transcript_chars=BUDGET) as talk:
        await long_talk(talk, 7)
        heard = [fact.data["text"][:9] for fact in talk.world.facts if fact.kind == "heard"]
    assert "about to be forgotten" in model.asked[5][0].content
    assert "message 1" in model.told(5)
    assert heard == [f"message {number}" for number in range(7)]
    for request in model.asked[6:]:
        prompt = "\n".join(message.content for message in request)
        assert SUMMARY in prompt
        assert "message 3" not in prompt
        assert "message 4" in prompt
        assert [message.role for message in request[:3]] == ["system", "user", "assistant"]
    assert [fact["turns"] for fact in talk.facts("compact")] == [4]  # type: ignore[index]


async def test_what_is_summed_up_again_has_the_last_summary_in_it() -> None:
    model = Model(*answers(0, 5), Reply(SUMMARY), *answers(5, 8), Reply("Still 17."), *answers(8, 9))
    async with talking(CHAT, model, transcript_chars=BUDGET) as talk:
        await long_talk(talk, 9)
    assert SUMMARY in model.told(9)
    prompt = "\n".join(message.content for message in model.asked[-1])
    assert "Still 17." in prompt
    assert SUMMARY not in prompt


async def test_what_does_not_fit_into_the_models_window_is_summed_up_before_the_model_refuses_it() -> None:
    model = Summing(*(replace(reply, usage=Usage(2_000, 50, window_tokens=3_000)) for reply in answers(0, 6)))
    async with talking(CHAT, model) as talk:
        await long_talk(talk, 6)
        assert talk.facts("compact")
    assert SUMMARY in "\n".join(message.content for message in model.asked[-1])


async def test_the_window_of_a_model_for_summaries_says_nothing_of_the_model_that_is_told_the_past() -> None:
    summary = Reply(SUMMARY, usage=Usage(500, 20, window_tokens=400))
    model = Model(*answers(0, 5), summary, *answers(5, 7))
    async with talking(CHAT, model, transcript_chars=BUDGET) as talk:
        await long_talk(talk, 7)
        assert len(talk.facts("compact")) == 1


async def test_what_was_heard_and_is_past_now_is_counted_once() -> None:
    usage = Usage(window_tokens=3_000)
    replies = (Reply(f"Hello {number}.", usage=usage) for number in range(4))
    async with walking(main("- While $going is not set", "  - Greet the user", "  - Wait for user"), *replies) as walk:
        for number, said in enumerate(("hi", "more", "x" * 3_500, "thanks")):
            assert await walk.say(said) == [f"Hello {number}."]
        assert walk.talk.facts("compact") == []


async def test_a_short_past_is_told_whole() -> None:
    model = Model(*answers(0, 4))
    async with talking(CHAT, model) as talk:
        await long_talk(talk, 4)
    assert talk.facts("compact") == []
    assert "message 1" in "\n".join(message.content for message in model.asked[-1])


@pytest.mark.parametrize("reply", [LLMUnavailable("it is away"), Reply(""), Reply("half", LLMUnavailable("cut"))])
async def test_where_the_model_fails_the_beginnings_stand_for_a_summary(reply: Reply | LLMUnavailable) -> None:
    model = Model(*answers(0, 5), reply, *answers(5, 6))
    async with talking(CHAT, model, transcript_chars=BUDGET) as talk:
        await long_talk(talk, 6)
    prompt = "\n".join(message.content for message in model.asked[-1])
    assert "by the beginnings of what was said" in prompt
    assert "message 3 xxx" in prompt
    assert "half" not in prompt
    answered = reply == Reply("")
    told = {event.data["purpose"] for event in talk.named("llm.answered")}
    assert told == ({"execute", "summarize"} if answered else {"execute"})
    assert [event.data["purpose"] for event in talk.named("llm.broke_off")] == ([] if answered else ["summarize"])


async def test_a_summary_that_does_not_end_is_cut() -> None:
    model = Model(*answers(0, 5), Reply("y" * 50_000), *answers(5, 6))
    async with talking(CHAT, model, transcript_chars=BUDGET) as talk:
        await long_talk(talk, 6)
    (told,) = re.findall("y{99,}", model.asked[-1][1].content)
    assert len(told) == BUDGET // 4


async def test_a_prompt_that_the_model_finds_too_long_is_shortened_and_asked_again() -> None:
    model = Model(*answers(0, 3), ContextTooLong("4,096 tokens"), Reply(SUMMARY), *answers(3, 4))
    async with talking(CHAT, model) as talk:
        await long_talk(talk, 4)
    assert SUMMARY in model.asked[-1][1].content


async def test_a_first_prompt_that_is_too_long_is_told_to_the_person() -> None:
    async with talking(CHAT, Model(ContextTooLong("4,096 tokens"))) as talk:
        (said,) = await talk.say("hello")
    assert "4,096 tokens" in said


async def test_who_may_not_ask_the_model_is_not_summed_up() -> None:
    asked = 0

    async def may_not(_address: object, _person: str | None) -> str | None:
        nonlocal asked
        asked += 1
        return None if asked <= 5 else "the money is spent"

    model = Model(*answers(0, 5))
    async with talking(CHAT, model, transcript_chars=BUDGET, allowance=may_not) as talk:
        await long_talk(talk, 5)
    assert talk.facts("compact") == []
    assert model.left == 0


async def test_what_the_summary_cost_is_counted() -> None:
    model = Model(*answers(0, 5), Reply(SUMMARY))
    async with talking(CHAT, model, transcript_chars=BUDGET) as talk:
        await long_talk(talk, 5)
        await talk.until(lambda: bool(talk.facts("compact")))
        await talk.until(lambda: len(talk.named("llm.answered")) == 6)
    assert talk.named("llm.answered")[-1].data["participant_id"] == "test:Ada"


def test_beginnings_are_bounded_and_the_latest_are_kept() -> None:
    past = [{"heard": f"heard {number} " + "z" * 500, "said": f"```python\nsaid {number}\n```"} for number in range(99)]
    text = beginnings(past, MAX_SUMMARY_CHARS)
    assert len(text) < MAX_SUMMARY_CHARS + 200
    assert "- said 98" in text
    assert "heard 0 " not in text


@dataclass
class Echo(Scripted):
    """Answers the last message, and sums up."""

    def _reply(self, request: CompletionRequest) -> str:
        if request.purpose == "summarize":
            return SUMMARY
        told = request.messages[-1].content
        number = (re.findall(r"user\): message (\d+)", told) or ["0"])[-1]
        self.turns = [['await Step("Main:01:QUE")', f'await Say("user", "answer {number}")', 'await Yld("user")']]
        return super()._reply(request)


PEOPLE = [f"message {number} {LONG}" for number in range(8)]


async def lived(sandbox: MontySandbox, monkeypatch: pytest.MonkeyPatch, *crashes: int) -> World:
    def within_budget(context: ExecutionContext, frame: Frame, calls: ModelCalls) -> TranscriptCompaction:
        return TranscriptCompaction(structs.replace(context, transcript_chars=BUDGET), frame, calls)

    monkeypatch.setattr(interpreter, "TranscriptCompaction", within_budget)
    world = World(PEOPLE, crashes=crashes, seed=sum(crashes))
    await live(world, CHAT, Echo([], random.Random(sum(crashes))), sandbox)
    return world


async def test_nothing_is_lost_or_said_twice_wherever_the_process_dies(
    sandbox: MontySandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    calm = await lived(sandbox, monkeypatch)
    for point in sample().of(range(1, calm.points + 1)):
        world = await lived(sandbox, monkeypatch, point)
        assert [shown.text for shown in world.chat] == [f"answer {number}" for number in range(8)], f"point {point}"
        state = SessionState()
        for fact in world.facts:
            apply_fact(state, fact)
        (frame,) = state.frames.values()
        assert SUMMARY in frame.transcript[0]["heard"]
        assert frame.turn == 8
