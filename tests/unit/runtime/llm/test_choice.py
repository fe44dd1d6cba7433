"""The model that is used follows from the settings, the environment and what runs on the machine."""

import json
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream

from runtime.llm.choice import ModelChoice, ModelSettings, NoModel, choose_model, find_ollama

KEYS = {"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}


def chosen(choice: ModelChoice | NoModel) -> ModelChoice:
    assert isinstance(choice, ModelChoice), choice
    return choice


def test_named_model_wins_over_everything() -> None:
    settings = ModelSettings(name="anthropic/claude-x", gguf=Path("m.gguf"))
    choice = chosen(choose_model(settings, KEYS, ["llama"]))
    assert (choice.name, choice.api_key_variable, choice.base_url) == ("anthropic/claude-x", "ANTHROPIC_API_KEY", None)


@pytest.mark.parametrize("name", ["openai/x", None])
def test_key_in_the_settings_wins_over_the_environments(name: str | None) -> None:
    choice = chosen(choose_model(ModelSettings(name=name, api_key="mine"), KEYS, None))
    assert (choice.api_key, choice.api_key_variable) == ("mine", None)


@pytest.mark.parametrize("name", ["openai/x", None])
def test_our_own_variable_wins_over_a_providers(name: str | None) -> None:
    settings = ModelSettings(name=name, api_key_variable="PARLEY_MODEL_API_KEY")
    assert chosen(choose_model(settings, KEYS, None)).api_key_variable == "PARLEY_MODEL_API_KEY"


@pytest.mark.parametrize("name", ["openai/x", None])
def test_a_key_in_a_file_goes_before_the_environments(name: str | None) -> None:
    choice = chosen(choose_model(ModelSettings(name=name, api_key_file=Path("/run/key")), KEYS, None))
    assert (choice.api_key_variable, choice.api_key_file) == (None, Path("/run/key"))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("test", "openai/test"),
        ("openai/test", "openai/test"),
        ("qwen/qwen3", "openai/qwen/qwen3"),
        ("groq/a", "groq/a"),
    ],
)
def test_model_behind_a_base_url_is_openai_compatible_unless_it_says_otherwise(given: str, name: str) -> None:
    url = "http://127.0.0.1:9999/v1"
    choice = chosen(choose_model(ModelSettings(name=given, base_url=url), set(), None))
    assert (choice.name, choice.base_url) == (name, url)


def test_environments_key_is_not_sent_to_a_server_of_ones_own() -> None:
    settings = ModelSettings(name="openai/test", base_url="http://127.0.0.1:9999/v1")
    assert chosen(choose_model(settings, KEYS, None)).api_key_variable is None


def test_base_url_without_a_name_asks_for_the_name() -> None:
    choice = choose_model(ModelSettings(base_url="http://127.0.0.1:9999/v1"), KEYS, None)
    assert isinstance(choice, NoModel)
    assert "PARLEY_MODEL" in choice.reason


@pytest.mark.parametrize(
    ("variable", "provider"),
    [
        ("OPENAI_API_KEY", "openai/"),
        ("ANTHROPIC_API_KEY", "anthropic/"),
        ("GEMINI_API_KEY", "gemini/"),
        ("GOOGLE_API_KEY", "gemini/"),
        ("OPENROUTER_API_KEY", "openrouter/"),
        ("MISTRAL_API_KEY", "mistral/"),
        ("GROQ_API_KEY", "groq/"),
        ("DEEPSEEK_API_KEY", "deepseek/"),
    ],
)
def test_key_in_the_environment_chooses_its_provider(variable: str, provider: str) -> None:
    choice = chosen(choose_model(ModelSettings(), {variable}, ["llama"]))
    assert choice.name.startswith(provider)
    assert choice.api_key_variable == variable
    assert variable in choice.reason


def test_ollama_comes_before_a_file() -> None:
    choice = chosen(choose_model(ModelSettings(gguf=Path("m.gguf")), set(), ["qwen3:8b", "llama"]))
    assert choice.name == "ollama_chat/qwen3:8b"


def test_file_comes_last() -> None:
    choice = chosen(choose_model(ModelSettings(gguf=Path("dir/m.gguf")), set(), []))
    assert choice.gguf == Path("dir/m.gguf")
    assert "m.gguf" in choice.reason


def test_nothing_found_says_what_to_set_in_one_sentence() -> None:
    choice = choose_model(ModelSettings(), set(), [])
    assert isinstance(choice, NoModel)
    assert "PARLEY_MODEL" in choice.reason
    assert "ollama pull" in choice.reason
    assert choice.reason.count(". ") == 0


def test_secrets_do_not_show_in_texts() -> None:
    choice = choose_model(ModelSettings(name="openai/x", api_key="sk-secret"), set(), None)
    assert "sk-secret" not in repr(choice)


async def _ollama(stream: SocketStream, body: bytes) -> None:
    async with stream:
        await stream.receive()
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))


@pytest.mark.parametrize(
    ("body", "models"),
    [
        (json.dumps({"models": [{"name": "qwen3:8b"}, {"name": "llama"}]}), ["qwen3:8b", "llama"]),
        ('{"models": []}', []),
        ("<html>another server</html>", None),
        ('{"error": "no"}', None),
    ],
)
async def test_ollama_is_asked_for_its_models(body: str, models: list[str] | None) -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, lambda stream: _ollama(stream, body.encode()))
        assert await find_ollama(f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}") == models
        tasks.cancel_scope.cancel()


async def test_no_ollama_is_none() -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(SocketAttribute.local_port)
    assert await find_ollama(f"http://127.0.0.1:{port}") is None


async def test_silent_ollama_is_none() -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        assert await find_ollama(f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}") is None
