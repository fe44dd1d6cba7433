"""Parts that the settings switch on and that are not installed: people are warned, and everything else goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gateway.assembly.parts import open_archive
from gateway.models.opening import open_models
from gateway.settings.operation import RetentionSettings
from gateway.settings.tree import Settings
from runtime.core.errors import LLMUnavailable
from runtime.events.happening import Happening
from runtime.llm.client import CompletionRequest

pytestmark = pytest.mark.anyio


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
