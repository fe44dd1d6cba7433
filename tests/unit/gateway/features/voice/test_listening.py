"""Recordings are put into words within bounds; each that is not has a sentence."""

import json

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.features.voice.settings import VoiceSettings
from gateway.features.voice.speech import ModelListener, ReceivedSound, UnheardReply, VoiceTranscript
from gateway.models.answers import BilledModel, BilledPerson
from runtime.core.address import Address
from runtime.core.errors import LLMError, LLMRefused, LLMTimeout, LLMUnavailable
from runtime.core.ids import SessionId
from runtime.core.message import Attachment
from runtime.core.texts import english
from runtime.events.frames import LLMAnswered
from runtime.events.happening import Happening
from runtime.llm.client import TRANSCRIBE, Usage
from tests.fakes.clock import HastyClock
from tests.fakes.memory.counters import MemoryCounters
from tests.fakes.people.talk import Model, Reply
from tests.unit.gateway.features.files.test_files import FilesAtHand

PAYER = BilledPerson(SessionId("s"), Address("test", "1"), "test:Ada")
NOTE = Attachment("voice.ogg", "audio/ogg", "file:1", 2_000)


def said(text: object, language: str = "english") -> Reply:
    return Reply(json.dumps({"text": text, "language": language}), usage=Usage(cost_usd=0.001, model="test/ear"))


def listener(
    *replies: Reply | LLMError, refuses: str | None = None, told: list[Happening] | None = None, **limits: int
) -> ModelListener:
    async def may_ask(_address: Address, _person: str | None) -> str | None:
        return refuses

    clock = HastyClock()
    events = [] if told is None else told
    return ModelListener(
        BilledModel(Model(*replies), may_ask, events.append, clock),
        *(FilesAtHand(file_1=b"OggS"), MemoryCounters(clock), VoiceSettings(**limits)),
        lambda _: english(),
    )


def sound(seconds: float | None = 3.0, *, kind: str = "audio/ogg", before_s: float = 0.0) -> ReceivedSound:
    return ReceivedSound(Attachment(NOTE.name, kind, NOTE.url, 2_000), "audio/ogg", seconds, before_s)


async def why(heard: ModelListener, what: ReceivedSound, once: str = "1") -> str:
    found = await heard.words(what, PAYER, once)
    assert isinstance(found, UnheardReply), found
    return found.why


async def test_the_words_and_their_language_are_heard_and_what_it_cost_is_told() -> None:
    told: list[Happening] = []
    assert await listener(said(" Two pizzas "), told=told).words(sound(), PAYER, "1") == VoiceTranscript(
        "Two pizzas", "english"
    )
    (answered,) = told
    assert isinstance(answered, LLMAnswered)
    assert (answered.model, answered.cost_usd, answered.purpose) == ("test/ear", 0.001, TRANSCRIBE)


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        (sound(None, kind="video/mp4"), "it is a video"),
        (sound(None), "it is damaged, or in a format that I do not know"),
        (sound(0.0), "There is no sound in voice.ogg."),
        (sound(7 * 3600.0), "at most 15 minutes with one message, so I did not listen to voice.ogg: it would be 420"),
        (sound(600.0, before_s=600.0), "it would be 20"),
    ],
)
async def test_what_is_no_recording_or_too_long_is_sent_to_nobody(what: ReceivedSound, sentence: str) -> None:
    assert sentence in await why(listener(), what)


async def test_a_conversation_is_listened_to_for_so_long_in_a_day_and_each_recording_counts_once() -> None:
    heard = listener(said("a"), said("b"), seconds_per_day=120)
    assert await heard.words(sound(60.0), PAYER, "1/0") == VoiceTranscript("a", "english")
    assert await heard.words(sound(60.0), PAYER, "1/0") == VoiceTranscript("b", "english")
    assert "listened to 2 minutes here today" in await why(heard, sound(61.0), "2/0")


async def test_who_has_used_up_their_share_is_told_so() -> None:
    assert await why(listener(refuses="Enough for today."), sound()) == "Enough for today."


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (LLMUnavailable("down"), "does not answer. I keep it"),
        (LLMTimeout("slow"), "took too long. I keep it"),
        (LLMRefused("no"), "does not accept voice.ogg. I keep it"),
        (said(""), "I heard no words"),
        (said("blah " * 10_000), "cannot be what was said"),
        (Reply("no JSON"), "does not answer"),
        (Reply('{"words": 1}'), "does not answer"),
    ],
)
async def test_a_service_that_fails_or_lies_is_said_in_a_sentence(reply: Reply | LLMError, sentence: str) -> None:
    assert sentence in await why(listener(reply), sound())


async def test_a_file_that_is_no_longer_kept_is_asked_for_again() -> None:
    gone = ReceivedSound(Attachment("voice.ogg", "audio/ogg", "file:2", 9), "audio/ogg", 3.0)
    assert "no longer kept" in await why(listener(), gone)


@settings(max_examples=200, deadline=None)
@given(st.text() | st.recursive(st.none() | st.floats() | st.text(), st.lists).map(json.dumps))
@example("[" * 50_000)
@example('{"text": "\\ud800", "language": "german"}')
@example('{"text": ["a"], "language": {}}')
def test_an_answer_of_any_form_is_words_that_can_be_kept_or_a_sentence(answer: str) -> None:
    found = anyio.run(listener(Reply(answer)).words, sound(), PAYER, "1")
    kept = found.text + found.language if isinstance(found, VoiceTranscript) else found.why
    assert kept.encode()
