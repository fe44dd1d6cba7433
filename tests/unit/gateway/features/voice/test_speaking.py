"""Who wants answers spoken says so by /voice, and a model speaks them."""

import base64
from datetime import UTC, datetime

import pytest

from adapters.adapter import Inbound
from gateway.access.people import Role
from gateway.features.voice.speech import ModelSpeaker, VoiceCommand
from gateway.inbound.entrance import GivenCommand
from gateway.models.answers import BilledModel
from runtime.core.address import Address
from runtime.core.errors import LLMError, LLMUnavailable
from runtime.core.texts import english
from runtime.events.frames import LLMAnswered
from runtime.events.happening import Happening
from runtime.llm.client import SPEAK, Usage
from tests.fakes.clock import HastyClock
from tests.fakes.models.sounds import opus
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.people.talk import Model, Reply
from tests.unit.gateway.features.voice.test_listening import PAYER

HERE = Address("test", "1")


def asked(text: str, *, private: bool = True) -> Inbound:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Inbound(HERE, "1", "test:Ada", "Ada", text, at, private=private, addressed=True, command="voice")


async def answer(command: VoiceCommand, text: str, *, private: bool = True) -> tuple[str, bool]:
    """What is answered, and whether to Ada alone."""
    event = asked(text, private=private)
    said = await command.answer(GivenCommand(event, Role.GUEST, "program", english(), private))
    return said.text, said.alone


async def test_voice_is_turned_on_and_off_and_says_how_it_is() -> None:
    records = MemoryRecords()
    command = VoiceCommand(records, speaks=True)
    assert "each program decides" in (await answer(command, ""))[0]
    assert "From now on I also speak" in (await answer(command, "ON"))[0]
    assert await records.get("test:Ada") == "on"
    assert (await answer(command, ""))[0].startswith("I also speak my answers to you")
    assert "From now on I only write" in (await answer(command, "off"))[0]
    assert (await answer(command, "  "))[0].startswith("I only write my answers to you")
    assert "Write /voice on" in (await answer(command, "loud"))[0]


async def test_in_a_group_the_answer_is_for_who_asks_alone() -> None:
    assert (await answer(VoiceCommand(MemoryRecords(), speaks=True), "on", private=False))[1]


async def test_without_a_model_that_speaks_nothing_is_turned_on() -> None:
    records = MemoryRecords()
    assert "I have no voice here" in (await answer(VoiceCommand(records, speaks=False), "on"))[0]
    assert await records.get("test:Ada") is None


def speaker(
    *replies: Reply | LLMError, refuses: str | None = None, told: list[Happening] | None = None
) -> ModelSpeaker:
    async def may_ask(_address: Address, _person: str | None) -> str | None:
        return refuses

    events = [] if told is None else told
    return ModelSpeaker(BilledModel(Model(*replies), may_ask, events.append, HastyClock()), MemoryRecords(), 1_000)


def recording(data: bytes) -> Reply:
    return Reply(base64.b64encode(data).decode(), usage=Usage(cost_usd=0.002, model="test/mouth"))


async def test_a_text_becomes_a_voice_note_and_what_it_cost_is_told() -> None:
    told: list[Happening] = []
    assert await speaker(recording(opus(2.0)), told=told).spoken("Hi.", PAYER) == opus(2.0)
    (answered,) = told
    assert isinstance(answered, LLMAnswered)
    assert (answered.model, answered.cost_usd, answered.purpose) == ("test/mouth", 0.002, SPEAK)


@pytest.mark.parametrize("reply", [LLMUnavailable("down"), Reply("no Base64!"), recording(b"OggS, but no Opus")])
async def test_what_is_no_voice_note_is_not_sent(reply: Reply | LLMError) -> None:
    assert await speaker(reply).spoken("Hi.", PAYER) is None


async def test_who_has_used_up_their_share_is_not_spoken_to() -> None:
    assert await speaker(refuses="Enough.").spoken("Hi.", PAYER) is None
