"""Recordings and texts for a server that speaks OpenAI's protocol, through the model's process."""

import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from msgspec import convert

from runtime.core.errors import LLMError, LLMRefused, LLMUnavailable
from runtime.llm.client import SPEAK, TRANSCRIBE, ChatMessage, CompletionRequest, ModelOptions, Service, VoiceRecording
from runtime.llm.frames import packed_request
from runtime.llm.worker.services import MAX_SPEECH_BYTES
from runtime.llm.worker.services import VoiceServer as Asked
from tests.fakes.models.sounds import opus
from tests.fakes.models.voice_server import Heard, VoiceServer
from tests.fakes.protocols.malformed import malformed

SAID = CompletionRequest(
    (), TRANSCRIBE, recording=VoiceRecording("voice.ogg", "audio/ogg", base64.b64encode(opus(3.0)).decode())
)
TEXT = CompletionRequest((ChatMessage("user", "Good morning."),), SPEAK)


@asynccontextmanager
async def asking(server: VoiceServer, model: str, service: Service = "transcription") -> AsyncIterator[Asked]:
    asked = Asked(ModelOptions(f"openai/{model}", server.base_url, "sk-secret", service=service, speaker="nova"))
    try:
        yield asked
    finally:
        await asked.aclose()


async def answer(asked: Asked, request: CompletionRequest) -> str:
    return "".join([part async for part in asked.answer(request) if isinstance(part, str)])


async def test_a_recording_is_sent_as_a_file_and_its_language_comes_back() -> None:
    async with VoiceServer(Heard("Guten Morgen", "german")) as server, asking(server, "whisper-1") as asked:
        assert json.loads(await answer(asked, SAID)) == {"text": "Guten Morgen", "language": "german"}
    (given,) = server.recordings
    assert (given["filename"], given["type"], given["model"]) == ("voice.ogg", "audio/ogg", "whisper-1")
    assert given["data"] == opus(3.0)
    assert server.headers[0]["authorization"] == "Bearer sk-secret"


async def test_models_that_know_no_language_are_asked_without() -> None:
    async with VoiceServer(Heard("Hi")) as server, asking(server, "gpt-4o-transcribe") as asked:
        assert json.loads(await answer(asked, SAID)) == {"text": "Hi", "language": ""}
    assert len(server.recordings) == 1


async def test_the_languages_of_newer_models_are_read() -> None:
    body = json.dumps({"text": "Hi", "languages": [{"code": "en"}]}).encode()
    async with VoiceServer(Heard(body=body)) as server, asking(server, "gpt-transcribe") as asked:
        assert json.loads(await answer(asked, SAID)) == {"text": "Hi", "language": "en"}


@pytest.mark.parametrize(
    ("heard", "error"),
    [
        (Heard(status=503), LLMUnavailable),
        (Heard(gone=True), LLMUnavailable),
        (Heard(body=b"<html>"), LLMUnavailable),
        (Heard(body=b"[1]"), LLMUnavailable),
        (Heard(body=b'{"text": 3}'), LLMUnavailable),
        (Heard(body=b" " * 2_000_000), LLMRefused),
        (Heard(status=400), LLMRefused),
    ],
)
async def test_an_answer_that_is_no_transcript_is_a_failure(heard: Heard, error: type[LLMError]) -> None:
    async with VoiceServer(heard) as server, asking(server, "whisper-1") as asked:
        with pytest.raises(error):
            await answer(asked, SAID)


async def test_a_text_is_spoken_by_the_voice_of_the_settings() -> None:
    async with VoiceServer() as server, asking(server, "tts-1", "speech") as asked:
        assert base64.b64decode(await answer(asked, TEXT)) == opus(2.0)
    assert server.spoken == [{"model": "tts-1", "input": "Good morning.", "voice": "nova", "response_format": "opus"}]


@pytest.mark.parametrize("speech", [b"ID3 something else", b"", b"OggS" + bytes(MAX_SPEECH_BYTES)])
async def test_what_is_no_voice_note_is_refused(speech: bytes) -> None:
    async with VoiceServer() as server, asking(server, "tts-1", "speech") as asked:
        server.speech = speech
        with pytest.raises(LLMRefused):
            await answer(asked, TEXT)


def test_a_recording_is_packed_as_any_request() -> None:
    recording = VoiceRecording('a "data":"" name.ogg', "audio/ogg", base64.b64encode(bytes(range(256))).decode())
    request = CompletionRequest((), TRANSCRIBE, recording=recording)
    frame = json.loads(packed_request(7, 1, request)[4:])
    assert (frame["ask"], frame["model"], convert(frame["request"], CompletionRequest)) == (7, 1, request)


REPLY = {"text": "Hello", "languages": [{"code": "en"}], "duration": 3, "usage": {"seconds": 3, "input_tokens": 7}}
MEASURELESS = ["NaN", "1e999", "-1e300", "1" + "0" * 400, "1" * 5_000, r'"\ud800"', "[" * 40_000]


def replies() -> Iterator[str]:
    """The reply of a server with each of its parts replaced by what does not belong there."""
    yield from map(json.dumps, malformed(REPLY))
    yield from (json.dumps({**REPLY, name: "@"}).replace('"@"', raw) for name in REPLY for raw in MEASURELESS)
    yield from (f'{{"text": "Hello", "usage": {{"seconds": {raw}}}}}' for raw in MEASURELESS)


async def test_a_reply_of_any_form_is_a_transcript_or_a_failure() -> None:
    given = [*replies()]
    heard = (Heard(body=one.encode()) for one in given)
    async with VoiceServer(*heard) as server, asking(server, "gpt-transcribe") as asked:
        for reply in given:
            try:
                found = json.loads(await answer(asked, SAID))
            except LLMError:
                continue
            assert set(found) == {"text", "language"}, reply[:300]
    assert len(server.recordings) == len(given)
