"""Whisper on this machine: a process of its own, which may fail without harm, and a model that is there or said not to
be."""

import base64
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import tests.fakes.libraries
from runtime.core.clock import SystemClock
from runtime.core.errors import ConfigError, LLMRefused, LLMUnavailable
from runtime.events.happening import Happening
from runtime.llm.answering import AnsweringClient
from runtime.llm.client import TRANSCRIBE, CompletionRequest, ModelOptions, VoiceRecording
from runtime.llm.local import LocalWhisper, check_model, download, folder_of, is_there
from runtime.llm.worker.services import VoiceServer

LIBRARIES = str(Path(tests.fakes.libraries.__file__).parent)


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a model in it, and the extra's stand-in installed."""
    monkeypatch.syspath_prepend(LIBRARIES)
    download("tiny", folder_of(tmp_path, "tiny"))
    return tmp_path


@asynccontextmanager
async def listening(data_dir: Path, told: list[Happening], limit_s: float = 20.0) -> AsyncIterator[LocalWhisper]:
    environment = {"PYTHONPATH": LIBRARIES}
    async with LocalWhisper(data_dir, "tiny", limit_s, SystemClock(), told.append, environment=environment) as whisper:
        yield whisper


async def words(whisper: LocalWhisper, sound: str) -> tuple[str, str]:
    """The words of a recording, and their language."""
    options = ModelOptions("whisper/tiny", whisper.base_url, max_retries=2, service="transcription")
    server = VoiceServer(options)
    recording = VoiceRecording("note.ogg", "audio/ogg", base64.b64encode(sound.encode()).decode())
    try:
        async with AnsweringClient(server, options, SystemClock()).stream(
            CompletionRequest((), TRANSCRIBE, recording=recording)
        ) as completion:
            found = json.loads("".join([piece async for piece in completion]))
    finally:
        await server.aclose()
    return found["text"], found["language"]


def runs(whisper: LocalWhisper) -> bool:
    return whisper.process_id is not None


async def test_recordings_are_written_down_by_one_process_that_survives_damaged_ones_and_bombs(data_dir: Path) -> None:
    told: list[Happening] = []
    async with listening(data_dir, told) as whisper:
        assert not runs(whisper)  # nothing runs before somebody speaks
        assert await words(whisper, "says:it is forty two") == ("it is forty two", "en")
        first = whisper.process_id
        with pytest.raises(LLMRefused, match=r"The recording cannot be read \(ValueError\)"):
            await words(whisper, "broken:no such codec")
        with pytest.raises(LLMRefused, match=r"The recording cannot be read \(MemoryError\)"):
            await words(whisper, "bomb:")
        assert await words(whisper, "says:") == ("", "en")
        assert whisper.process_id == first
        assert first is not None
    assert not runs(whisper)


async def test_a_process_that_dies_is_begun_again_and_the_recording_asked_again(data_dir: Path) -> None:
    told: list[Happening] = []
    async with listening(data_dir, told, limit_s=0.2) as whisper:
        assert (await words(whisper, f"crash:{data_dir}/crashed"))[1] == "en"
        assert [what.data()["reason"] for what in told] == ["exit code 3"]
        with pytest.raises(LLMUnavailable, match=r"was not written down in 0\.2 s"):
            await words(whisper, "slow:")
        assert await words(whisper, "says:next") == ("next", "en")


@pytest.mark.parametrize(
    ("size", "words_"),
    [
        ("huge", "There is no Whisper model 'huge'; there are: tiny,"),
        ("small", "Download it once: parley setup voice small"),
    ],
)
def test_what_is_not_there_is_said_at_the_start(data_dir: Path, size: str, words_: str) -> None:
    with pytest.raises(ConfigError, match=words_):
        check_model(folder_of(data_dir, size), size)


def test_without_the_extra_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faster_whisper", None)
    with pytest.raises(ConfigError, match=r"install parley-gateway\[voice\]"):
        check_model(folder_of(tmp_path, "tiny"), "tiny")


def test_a_download_that_fails_is_said_and_leaves_no_model(data_dir: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be downloaded: the Hub is away"):
        download("medium", folder_of(data_dir, "medium"))
    assert not is_there(folder_of(data_dir, "medium"))
    assert is_there(folder_of(data_dir, "tiny"))
