"""The models of the settings as one process opens them, and what owners are told of their faults."""

import sys
from pathlib import Path

import pytest

from gateway.access.people import Role
from gateway.assembly.probes import probes
from gateway.models.answers import ModelTroubles
from gateway.models.opening import check_programs, default_model, named_clients, open_model, open_models
from gateway.settings.execution import RouteSettings
from gateway.settings.tree import Settings
from runtime.core.errors import ConfigError, LLMUnavailable
from runtime.events.frames import LLMFailed
from runtime.events.service import ModelKeyRefused
from runtime.llm.choice import ModelChoice
from runtime.llm.client import EMBED, TRANSCRIBE, ChatMessage, CompletionRequest
from runtime.llm.local import download, folder_of
from runtime.llm.models import ModelRegistry
from tests.fakes.clock import FakeClock
from tests.fakes.models.embedding_server import EmbeddingServer
from tests.fakes.models.openai_server import OpenAIServer, Reply
from tests.unit.gateway.inbound.arrivals import Door, event, opened, people
from tests.unit.runtime.execution.processor.walking import compiled, main
from tests.unit.runtime.llm.test_whisper import LIBRARIES

REFUSED = ModelKeyRefused("openai/x", "main", "no such key")


def failed(error: str) -> LLMFailed:
    return LLMFailed("s", "1000.0", "1000", "Main", error)


async def door_of(clock: FakeClock) -> Door:
    """A door through which an owner and a member have written in private."""
    store = people(clock, _1=Role.OWNER, _2=Role.MEMBER)
    door = Door(await opened("open", store, clock), store=store, clock=clock)
    for person, chat in (("1", "private"), ("2", "other")):
        await door.take(event("hi", person=person, chat=chat, id=chat))
    door.inbox.events.clear()
    return door


async def test_owners_read_the_providers_words_in_private_and_members_do_not() -> None:
    clock = FakeClock()
    door = await door_of(clock)
    troubles = ModelTroubles(door.entrance.owners, clock)
    await troubles.tell(REFUSED)
    await troubles.tell(failed("LLMUnavailable: the line is cut"))
    refused, unanswered = door.inbox.events
    assert refused.address.conversation == unanswered.address.conversation == "private"
    assert refused.kind == unanswered.kind == "notice"
    assert "“main” refuses the key" in refused.text
    assert unanswered.text.endswith("can write again later. the line is cut")


async def test_a_kind_of_failure_has_one_id_a_day_on_all_nodes() -> None:
    clock = FakeClock()
    door = await door_of(clock)
    for pause_s, what in ((0, REFUSED), (3600, REFUSED), (0, failed("LLMTimeout: slow")), (86_400, REFUSED)):
        await clock.advance(pause_s)
        await ModelTroubles(door.entrance.owners, clock).tell(what)
    ids = [kept.id for kept in door.inbox.events]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def server_of(server: OpenAIServer, model: str) -> dict[str, str]:
    return {"model": model, "base_url": server.base_url}


async def answer(models: ModelRegistry, purpose: str, model: str = "") -> tuple[str, str]:
    """What is answered, and by whom."""
    async with models.stream(CompletionRequest((ChatMessage("user", "go"),), purpose, model)) as completion:
        text = "".join([piece async for piece in completion])
        return text, completion.usage.model


async def test_requests_go_to_the_model_of_their_name_or_purpose_at_its_own_server() -> None:
    async with OpenAIServer([Reply("words")] * 2) as one, OpenAIServer([Reply("choice")]) as other:
        settings = Settings(models={"default": "a", "fast": "b", "a": server_of(one, "x"), "b": server_of(other, "y")})
        async with open_models(settings) as (models, line):
            assert await answer(models, "execute") == ("words", "openai/x")
            assert await answer(models, "decide") == ("choice", "openai/y")
            assert await answer(models, "decide", model="a") == ("words", "openai/x")
            assert list(named_clients(models).values()) == [["default", "a"], ["fast", "b"]]
    assert line.startswith("openai/x (as set); fast: openai/y")
    assert [request["model"] for request in one.requests] == ["x", "x"]


async def test_a_model_that_listens_is_of_this_machine_and_does_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(LIBRARIES)
    download("tiny", folder_of(tmp_path, "tiny"))
    listens = Settings(data_dir=tmp_path, models={"default": "openai/x", "transcription": "whisper/tiny"})
    async with open_models(listens) as (models, _):
        listener = models.service(TRANSCRIBE)
        assert listener is not None
        assert listener.model == "whisper/tiny"
    for wrong, words in (
        ({"default": "whisper/tiny"}, "whisper/tiny only listens: it can be models.transcription"),
        ({"default": "openai/x", "transcription": "whisper/base"}, "parley setup voice base"),
    ):
        with pytest.raises(ConfigError, match=words):
            async with open_models(Settings(data_dir=tmp_path, models=wrong)):
                pass


async def test_a_model_for_meanings_is_asked_at_its_server_and_is_no_other_model() -> None:
    async with EmbeddingServer() as server:
        settings = Settings(
            models={"default": "a", "a": server_of(server, "x"), "embedding": server_of(server, "meaning")}
        )
        async with open_models(settings) as (models, line):
            model = models.service(EMBED)
            await models.warm_up()
            assert model is not None
            request = CompletionRequest((ChatMessage("user", "is vegetarian"), ChatMessage("user", "in Oslo")), EMBED)
            async with model.stream(request) as completion:
                text = "".join([piece async for piece in completion])
                assert completion.usage.input_tokens == len("is vegetarianin Oslo")
            assert "embedding" not in models.clients
    assert len(text.split()) == 2
    assert "meaning" not in line
    assert server.texts == ["is vegetarian", "in Oslo"]


async def test_a_model_for_meanings_has_to_be_asked_by_the_known_protocol() -> None:
    with pytest.raises(ConfigError, match=r"models.embedding: cohere/embed is not asked by OpenAI's protocol"):
        async with open_models(Settings(models={"default": "openai/x", "embedding": "cohere/embed"})):
            pass


async def test_what_needs_no_model_works_where_the_default_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF")
    async with OpenAIServer([Reply("choice")]) as server:
        settings = Settings(model_file=file, models={"fast": server_of(server, "y")})
        async with open_models(settings) as (models, line):
            assert await answer(models, "decide") == ("choice", "openai/y")
            assert models.client_for("compile") is None
        with pytest.raises(LLMUnavailable, match="needs the extra 'local'"):
            async with open_model(settings):
                pass
    assert line.startswith("none. A GGUF file needs the extra 'local'")


async def test_a_program_that_names_an_unknown_model_is_refused_with_the_place() -> None:
    settings = Settings(models={"big": "openai/x"})
    check_programs(settings, [await compiled(main("- Greet the user", head="# Host\nmodel: big"))])
    unknown = await compiled(main("- Greet the user", more="## Help\nmodel: huge\n### Steps\n- Greet the user"))
    with pytest.raises(
        ConfigError, match=r'test\.pb:\d+:\d+: Host\.Help: there is no model "huge"; there are: default'
    ):
        check_programs(settings, [unknown])
    with pytest.raises(ConfigError, match=r'\[\[route\]\] 1: there is no model "huge"'):
        check_programs(Settings(route=(RouteSettings(program=("a.pb",), model="huge"),)), [])


async def test_parley_check_asks_each_model_once_and_says_which_does_not_answer() -> None:
    async with OpenAIServer([Reply("yes")]) as one, OpenAIServer([Reply(status=401)]) as other:
        settings = Settings(models={"default": "a", "fast": "b", "a": server_of(one, "x"), "b": server_of(other, "y")})
        ask = next(probe.ask for probe in await probes(settings) if probe.name == "model")
        assert ask is not None
        with pytest.raises(LLMUnavailable, match=r"openai/x answers \(default, a\)\nfast, b: .*refuses its key"):
            await ask()
    assert (len(one.requests), len(other.requests)) == (1, 1)


async def test_a_model_that_the_settings_name_needs_no_look_for_ollama(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    async def look() -> list[str]:
        looks.append("look")
        return ["qwen3:8b"]

    monkeypatch.setattr("gateway.models.opening.find_ollama", look)
    monkeypatch.setattr("gateway.models.opening.environment_keys", set)
    named = await default_model(Settings(model="openai/x", model_base_url="http://127.0.0.1:9/v1"))
    assert isinstance(named, ModelChoice)
    assert (named.name, looks) == ("openai/x", [])
    found = await default_model(Settings())
    assert isinstance(found, ModelChoice)
    assert (found.name, looks) == ("ollama_chat/qwen3:8b", ["look"])
