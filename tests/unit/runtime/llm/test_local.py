"""Without a provider: a clear sentence, or a file served from here."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from runtime.core.errors import ConfigError, LLMUnavailable
from runtime.llm.client import ChatMessage, CompletionRequest, LLMClient
from runtime.llm.local import LocalGGUF
from runtime.llm.models import NoModelClient


async def test_no_model_answers_with_its_reason() -> None:
    client: LLMClient = NoModelClient("Set PARLEY_MODEL.")
    async with client.stream(CompletionRequest((ChatMessage("user", "hi"),))) as completion:
        with pytest.raises(LLMUnavailable, match="Set PARLEY_MODEL"):
            await anext(aiter(completion))
        assert completion.usage.output_tokens == 0


async def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.gguf does not exist"):
        async with LocalGGUF(tmp_path / "none.gguf"):
            pass


async def test_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    with pytest.raises(ConfigError, match=r"parley-gateway\[local\]"):
        async with LocalGGUF(tmp_path / "m.gguf"):
            pass


class _Library(ModuleType):
    """xllamacpp as far as it matters here: it raises what the real one raises for a file that is no model."""

    class CommonParams:
        """What a server is started with."""

        def __init__(self) -> None:
            self.model = SimpleNamespace(path="")

    class Server:
        """Loads the file at once."""

        def __init__(self, parameters: _Library.CommonParams) -> None:
            raise RuntimeError(f"failed to load model {parameters.model.path}")


async def test_broken_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", _Library("xllamacpp"))
    (tmp_path / "m.gguf").write_bytes(b"not a model")
    with pytest.raises(ConfigError, match=r"cannot be loaded: failed to load model .*m\.gguf"):
        async with LocalGGUF(tmp_path / "m.gguf"):
            pass
