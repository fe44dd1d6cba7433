"""What one model does not answer, the next one does; what has failed cools down, on all nodes."""

import pytest

from runtime.core.errors import (
    LLMError,
    LLMKeyRefused,
    LLMNotOffered,
    LLMProcessLost,
    LLMQuotaSpent,
    LLMRateLimited,
    LLMRefused,
    LLMTimeout,
    LLMUnavailable,
    StorageUnavailable,
)
from runtime.events.happening import Happening
from runtime.llm.answering import AnsweringClient
from runtime.llm.chain import ModelChain, ModelCooldowns
from runtime.llm.client import ChatMessage, CompletionRequest, ModelOptions, PromptPicture, TokenPrices
from tests.fakes.clock import FakeClock
from tests.fakes.models.providers import Answer, ScriptedProvider, chain_of
from tests.fakes.observing.records import MemoryRecords

REQUEST = CompletionRequest((ChatMessage("user", "go"),))
DOWN = LLMUnavailable("down")


async def answer(chain: ModelChain) -> tuple[str, str]:
    """What is answered, and by whom."""
    async with chain.stream(REQUEST) as completion:
        text = "".join([piece async for piece in completion])
        return text, completion.usage.model


@pytest.mark.parametrize(
    "failure",
    [
        LLMRateLimited("busy"),
        DOWN,
        LLMTimeout("slow"),
        LLMQuotaSpent("no credit"),
        LLMKeyRefused("wrong key"),
        LLMNotOffered("gone"),
    ],
)
async def test_a_failure_before_the_first_word_goes_on_with_the_next_model_and_is_told(failure: LLMError) -> None:
    told: list[Happening] = []
    first, second = ScriptedProvider(failure), ScriptedProvider("hello there")
    chain = chain_of(FakeClock(), {"a": first, "b": second}, told.append)
    assert await answer(chain) == ("hello there", "openai/b")
    assert (len(first.asked), second.asked) == (1, [REQUEST])
    fell_back = next(what for what in told if what.name == "model.fell_back")
    assert fell_back.data()["following"] == "openai/b"
    refused = [what.data()["entry"] for what in told if what.name == "model.key_refused"]
    assert refused == (["a"] if isinstance(failure, LLMKeyRefused) else [])
    assert ("model.not_offered" in {what.name for what in told}) is isinstance(failure, LLMNotOffered)


async def test_a_refused_request_is_refused_by_none_else() -> None:
    second = ScriptedProvider("never")
    chain = chain_of(FakeClock(), {"a": ScriptedProvider(LLMRefused("not that")), "b": second})
    with pytest.raises(LLMRefused, match="not that"):
        await answer(chain)
    assert second.asked == []


async def test_an_answer_that_breaks_off_fails_and_the_next_request_goes_to_the_next_model() -> None:
    chain = chain_of(FakeClock(), {"a": ScriptedProvider(("one two", DOWN)), "b": ScriptedProvider("three")})
    with pytest.raises(LLMUnavailable, match="down"):
        await answer(chain)
    assert await answer(chain) == ("three", "openai/b")


async def test_a_model_is_asked_again_when_it_has_cooled_down_and_a_second_failure_takes_twice_as_long() -> None:
    clock = FakeClock()
    first = ScriptedProvider(DOWN, DOWN, "back")
    chain = chain_of(clock, {"a": first, "b": ScriptedProvider("1", "2", "3", "4")})
    asked = []
    for pause_s in (0, 19, 2, 39, 2):
        await clock.advance(pause_s)
        await answer(chain)
        asked.append(len(first.asked))
    assert asked == [1, 1, 2, 2, 3]


async def test_where_all_cool_down_the_one_that_is_ready_first_is_asked() -> None:
    clock = FakeClock()
    first = ScriptedProvider(LLMTimeout("slow"), "not yet")
    second = ScriptedProvider(
        LLMRateLimited("busy", retry_after_s=5), LLMRateLimited("busy", retry_after_s=90), "there"
    )
    chain = chain_of(clock, {"a": first, "b": second})
    with pytest.raises(LLMRateLimited):
        await answer(chain)
    assert await answer(chain) == ("there", "openai/b")


async def test_the_first_that_may_pass_is_asked_again_with_pauses_when_none_answers() -> None:
    clock = FakeClock()
    first, second = ScriptedProvider(DOWN, "at last"), ScriptedProvider(LLMKeyRefused("wrong key"))
    assert await answer(chain_of(clock, {"a": first, "b": second})) == ("at last", "openai/a")


async def test_the_death_of_our_own_process_cools_nothing_down() -> None:
    first = ScriptedProvider(LLMProcessLost("killed"), "again")
    chain = chain_of(FakeClock(), {"a": first, "b": ScriptedProvider("meanwhile")})
    assert [await answer(chain) for _ in range(2)] == [("meanwhile", "openai/b"), ("again", "openai/a")]


async def test_two_nodes_share_what_cools_down_and_that_it_is_over() -> None:
    clock, records = FakeClock(), MemoryRecords()
    nodes = []
    for answers in (["down", "back"], ["never", "also back"]):
        cooldowns = ModelCooldowns(clock)
        cooldowns.keep_in(records)
        first = ScriptedProvider(*(DOWN if one == "down" else one for one in answers))
        nodes.append((first, chain_of(clock, {"a": first, "b": ScriptedProvider("b")}, cooldowns=cooldowns)))
    (_, one), (unasked, other) = nodes
    assert (await answer(one))[1] == "openai/b"
    assert (await answer(other))[1] == "openai/b"
    assert unasked.asked == []
    await clock.advance(21)
    assert await answer(one) == ("back", "openai/a")
    assert records.records == {}


class AwayRecords(MemoryRecords):
    """A store that cannot be reached."""

    async def all(self) -> dict[str, str]:
        raise StorageUnavailable("away")

    async def put(self, name: str, value: str, /) -> None:
        raise StorageUnavailable("away")


async def test_without_the_store_each_node_knows_what_it_has_seen() -> None:
    clock = FakeClock()
    cooldowns = ModelCooldowns(clock)
    cooldowns.keep_in(AwayRecords())
    first = ScriptedProvider(DOWN)
    chain = chain_of(clock, {"a": first, "b": ScriptedProvider("1", "2")}, cooldowns=cooldowns)
    assert [(await answer(chain))[1] for _ in range(2)] == ["openai/b"] * 2
    assert len(first.asked) == 1


async def test_an_answer_that_is_left_has_an_estimate_at_the_providers_prices_and_a_refused_one_nothing() -> None:
    first = PricedProvider("one two three", LLMRefused("not that"))
    client = AnsweringClient(first, ModelOptions("openai/a"), FakeClock())
    async with client.stream(REQUEST) as completion:
        async for _ in completion:
            break
        left = completion.usage
    assert (left.input_tokens, left.output_tokens, left.estimated) == (1, 1, True)
    assert left.cost_usd == pytest.approx(10e-6 + 20e-6)
    async with client.stream(REQUEST) as completion:
        with pytest.raises(LLMRefused):
            _ = [piece async for piece in completion]
        assert (completion.usage.input_tokens, completion.usage.estimated) == (0, False)


class PricedProvider(ScriptedProvider):
    """Knows its prices."""

    def prices(self) -> TokenPrices:
        return TokenPrices(10.0, 1.0, 20.0)


@pytest.mark.parametrize(
    ("seeing", "any_sees", "all_see"),
    [
        ((True, False), True, False),
        ((False, False), False, False),
        ((True, None), None, None),
        ((True, True), True, True),
    ],
)
async def test_a_picture_is_for_the_models_that_see_and_a_blind_one_reads_that_there_was_one(
    seeing: tuple[bool | None, bool | None], any_sees: bool | None, all_see: bool | None
) -> None:
    first, second = SeeingProvider(seeing[0], DOWN), SeeingProvider(seeing[1], "a receipt")
    chain = chain_of(FakeClock(), {"a": first, "b": second})
    assert (await chain.sees(), await chain.all_see()) == (any_sees, all_see)
    shown = ChatMessage("user", "What is it?", pictures=(PromptPicture("image/jpeg", "AAAA"),))
    async with chain.stream(CompletionRequest((shown,))) as completion:
        assert "".join([piece async for piece in completion]) == "a receipt"
    for provider, sees in zip((first, second), seeing, strict=True):
        (message,) = provider.asked[0].messages
        blind = sees is False
        assert bool(message.pictures) is not blind
        assert ("[pictures left out here, for you cannot see them: 1" in message.content) is blind


class SeeingProvider(ScriptedProvider):
    """Knows whether its model sees pictures."""

    def __init__(self, known: bool | None, *answers: Answer) -> None:
        super().__init__(*answers)
        self._known = known

    async def sees(self, _purpose: str = "execute", _model: str = "", /) -> bool | None:
        return self._known
