"""What a start says of parts that are missing, of what is open to whom, and what `parley check` asks."""

import sys
from pathlib import Path

import pytest

from gateway.access.admission import AccessRules, PlatformAccess
from gateway.access.people import KnownPeople
from gateway.assembly.announcement import door_lines
from gateway.assembly.parts import open_archive
from gateway.assembly.probes import probes
from gateway.models.opening import open_models
from gateway.settings.operation import RetentionSettings
from gateway.settings.platforms import WebSettings
from gateway.settings.tree import Settings
from runtime.core.errors import LLMUnavailable
from runtime.events.happening import Happening
from runtime.llm.client import CompletionRequest
from runtime.sandbox.wrapping import WorkerWrapper
from tests.fakes.clock import FakeClock
from tests.fakes.observing.records import MemoryRecords


async def test_where_the_engine_of_a_model_file_is_missing_the_line_says_so_and_so_does_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF")
    async with open_models(Settings(model_file=file)) as (model, line):
        assert line.startswith("none. A GGUF file needs the extra 'local'")
        async with model.stream(CompletionRequest(())) as answer:
            with pytest.raises(LLMUnavailable, match="needs the extra 'local'"):
                aiter(answer)


async def test_where_the_archives_driver_is_missing_that_is_told_and_there_is_no_archive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "runtime.storage.archive.postgres", raising=False)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    heard: list[tuple[str, object]] = []

    def tell(what: Happening) -> None:
        heard.append((what.name, what.data()["error"]))

    settings = Settings(retention=RetentionSettings(archive_url="postgresql://nobody@127.0.0.1:1/none"))
    async with open_archive(settings, on_event=tell) as archive:
        assert archive is None
    ((name, why),) = heard
    assert name == "archive.failed"
    assert "pip install asyncpg" in str(why)


JAIL = WorkerWrapper(Path("/tmp/worker"), "workers run inside bwrap")


def test_a_start_says_who_may_talk_in_the_web_chat() -> None:
    assert door_lines(WebSettings(), JAIL) == ["open to    everybody on this machine"]


def test_a_start_says_that_there_is_no_jail_and_why() -> None:
    lines = door_lines(WebSettings(), WorkerWrapper(None, "bwrap is not installed"))
    assert lines[1:] == ["no jail    bwrap is not installed"]


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (AccessRules("open"), "everybody"),
        (AccessRules("pairing"), "whom an owner lets in"),
        (AccessRules("allowlist"), "those in the settings"),
        (
            AccessRules("allowlist", chats=frozenset({"1"}), spaces=frozenset({"T1", "T2"})),
            "those in the settings, and to everybody in 3 chats or spaces",
        ),
    ],
)
def test_a_platform_says_to_whom_it_is_open(rules: AccessRules, said: str) -> None:
    clock = FakeClock()
    assert (
        PlatformAccess(
            "test", rules, KnownPeople(MemoryRecords(), MemoryRecords(), MemoryRecords(), clock), clock
        ).open_to
        == said
    )


async def test_nothing_that_says_nothing_of_its_settings_is_shown_as_not_set_up() -> None:
    settings = Settings(model="openai/x", model_base_url="http://127.0.0.1:9/v1")
    names = [probe.name for probe in await probes(settings)]
    assert "schedules" in names
    assert not {"feedback", "mcp", "a2a"} & {*names}
