"""Which of several models is asked, and what becomes of a message whose model fails."""

from collections.abc import AsyncGenerator

import anyio
import pytest

from gateway.models.answers import call_of
from runtime.core.errors import LLMError, LLMTimeout, LLMUnavailable
from runtime.events.frames import LLMAnswered, LLMBrokeOff
from runtime.llm.client import CompletionRequest, Usage
from runtime.llm.models import ModelRegistry
from tests.fakes.crashes.world import World
from tests.fakes.models.providers import ScriptedProvider, chain_of
from tests.fakes.people.talk import Model, Reply, talking
from tests.unit.runtime.execution.processor.walking import compiled, main

ASKS = ("- Greet the user", "- If it is late", "  - Tell the user to sleep", "- End program")


def models_of(**replies: list[str]) -> tuple[ModelRegistry, dict[str, Model]]:
    made = {name: Model(*map(Reply, texts)) for name, texts in replies.items()}
    return ModelRegistry(made), made


async def test_choices_and_values_are_the_fast_models_and_words_the_defaults() -> None:
    models, made = models_of(default=["Hello!", "Sleep well."], fast=["yes"])
    async with talking(await compiled(main(*ASKS)), models) as talk:
        assert await talk.say("hi") == ["Hello!", "Sleep well."]
    assert [len(one.asked) for one in made.values()] == [2, 1]


async def test_without_a_fast_model_questions_share_a_reply() -> None:
    models, made = models_of(default=["[1] Hello!\n[2] yes", "Sleep well."])
    async with talking(await compiled(main(*ASKS)), models) as talk:
        assert await talk.say("hi") == ["Hello!", "Sleep well."]
    assert len(made["default"].asked) == 2


@pytest.mark.parametrize(
    ("head", "route", "asked"),
    [
        ("# Host\nmodel: big", {}, "big"),
        ("# Host\nmodel: big", {"test": "other"}, "big"),
        ("# Host", {"test": "other"}, "other"),
        ("# Host", {}, "default"),
    ],
)
async def test_what_the_program_names_goes_before_the_route_and_the_route_before_the_purpose(
    head: str, route: dict[str, str], asked: str
) -> None:
    script = ["[1] Hello!\n[2] no"] if asked != "default" else ["Hello!"]
    names = {"default": list[str](), "fast": ["no"], "big": list[str](), "other": list[str]()}
    models, made = models_of(**{**names, asked: script})
    program = await compiled(main(*ASKS, head=head))
    async with talking({"test": program}, models, models=route) as talk:
        assert await talk.say("hi") == ["Hello!"]
    assert {name for name, one in made.items() if one.asked} == {asked} | ({"fast"} if asked == "default" else set())


async def test_a_playbooks_model_goes_before_its_agents() -> None:
    more = "## Help\nmodel: small\n### Steps\n- Tell the user about help"
    program = await compiled(
        main("- Help()", "- Greet the user", "- End program", head="# Host\nmodel: big", more=more)
    )
    models, _ = models_of(default=[], small=["Help is near."], big=["Hello!"])
    async with talking(program, models) as talk:
        assert await talk.say("hi") == ["Help is near.", "Hello!"]


BEGUN = "The river rises in the hills behind the old mill, and from there it flows "
REST = "down to the sea, which it reaches after nine days."
DOWN = LLMUnavailable("the line is cut")
TELLS = main("- Tell the user about the river", "- Tell the user about the sea", "- End program")


async def test_the_next_model_goes_on_in_the_same_message_and_the_tape_says_who_answered() -> None:
    world = World(())
    first = ScriptedProvider((f"[1] {BEGUN}down", DOWN))
    second = ScriptedProvider(REST, "The sea is wide.")
    models = ModelRegistry({"default": chain_of(world.clock, {"a": first, "b": second})})
    async with talking(await compiled(TELLS), models, world=world) as talk:
        assert await talk.say("hi") == [BEGUN + REST, "The sea is wide."]
        assert f"<begun>{BEGUN}" in second.asked[0].messages[-1].content
        answered = [fact["model"] for fact in talk.facts("model")]  # type: ignore[index]
        broke_off = [event.data["model"] for event in talk.named("llm.broke_off")]
        by = [event.data["model"] for event in talk.named("llm.answered")]
        (in_part,) = [event.data for event in talk.named("llm.answered_in_part")]
    assert (in_part["model"], in_part["reply"], in_part["estimated"]) == ("openai/a", f"[1] {BEGUN}down", True)
    assert in_part["error"] == "LLMUnavailable: the line is cut"
    assert in_part["tokens_out"] == pytest.approx(len(f"[1] {BEGUN}down") / 3, abs=1)
    assert in_part["tokens_in"] > in_part["tokens_out"]
    assert answered == ["openai/a", "openai/b"]
    assert (broke_off, by) == (["openai/a"], ["openai/b"] * 2)


@pytest.mark.parametrize("down", [DOWN, LLMTimeout("nothing came in 30 s")], ids=["failed", "timed out"])
async def test_a_call_of_which_nothing_came_is_kept_once_with_its_error_and_its_prompt(down: LLMError) -> None:
    world = World(())
    models = ModelRegistry({"default": chain_of(world.clock, {"a": ScriptedProvider(*[down] * 9)})})
    async with talking(await compiled(TELLS), models, world=world) as talk:
        talk.post("hi")
        await talk.until(lambda: bool(talk.named("llm.broke_off")))
        await talk.settled()
    told = [(event.what, event.at) for event in talk.events if isinstance(event.what, LLMAnswered | LLMBrokeOff)]
    kept, *others = [call_of(what, what.prompt, at) for what, at in told if what.prompt is not None]
    assert others == []
    assert (kept.model, kept.klass, kept.step, kept.reply, kept.whole) == ("openai/a", "Host", "Main:01:QUE", "", False)
    assert kept.error == f"{type(down).__name__}: {down}"
    assert "Tell the user about the river" in kept.prompt[-1].content
    assert (kept.tokens_in > 0) == kept.estimated == isinstance(down, LLMTimeout)


async def test_an_answer_that_somebody_stops_is_counted_as_far_as_it_came() -> None:
    world = World(())
    models = ModelRegistry({"default": chain_of(world.clock, {"a": Stuck(), "b": ScriptedProvider()})})
    async with talking(await compiled(TELLS), models, world=world) as talk:
        talk.post("hi")
        await talk.until(lambda: any(BEGUN.strip() in text for text in talk.chat))
        talk.post("", kind="stop")
        await talk.until(lambda: bool(talk.named("llm.answered_in_part")))
        (in_part,) = [event.data for event in talk.named("llm.answered_in_part")]
    assert (in_part["tokens_in"], in_part["estimated"]) == (321, True)
    assert in_part["tokens_out"] > 10


class Stuck(ScriptedProvider):
    """Says what it was given, and never comes to an end."""

    async def answer(self, request: CompletionRequest, /) -> AsyncGenerator[str | Usage, None]:
        yield Usage(input_tokens=321, output_tokens=1)
        yield f"[1] {BEGUN}down"
        await anyio.sleep_forever()


async def test_a_crash_between_the_first_ones_failure_and_the_second_ones_answer_repeats_nothing() -> None:
    world, program = World(()), await compiled(TELLS)
    held = ScriptedProvider("never", gate=anyio.Event())
    models = ModelRegistry({"default": chain_of(world.clock, {"a": ScriptedProvider(DOWN), "b": held})})
    async with talking(program, models, world=world) as talk:
        talk.post("hi")
        await talk.until(lambda: bool(held.asked))
    second = ScriptedProvider(f"[1] {BEGUN}{REST}\n[2] The sea is wide.")
    models = ModelRegistry({"default": chain_of(world.clock, {"a": ScriptedProvider(DOWN), "b": second})})
    async with talking(program, models, world=world) as talk:
        await talk.until(lambda: talk.chat[-1:] == ["The sea is wide."])
        assert talk.chat == [BEGUN + REST, "The sea is wide."]
    assert len(second.asked) == 1
