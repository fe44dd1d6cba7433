"""The models of the settings, opened for requests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gateway.settings.forms import revealed
from gateway.settings.hidden_keys import OUR_KEY, hidden_keys
from gateway.settings.models import ModelServer, check_name, service_sources, sources_of
from gateway.settings.tree import Settings, environment_keys, model_environment
from runtime.core.clock import SystemClock
from runtime.core.errors import ConfigError, LLMUnavailable, NotInstalled
from runtime.events.happening import Tell, unheard
from runtime.language.program import AgentSpec, PlaybookSpec, Program
from runtime.llm.answering import AnsweringClient, ThoughtHabit
from runtime.llm.chain import ChainLink, ModelChain, ModelCooldowns
from runtime.llm.choice import ModelChoice, ModelSettings, NoModel, choose_model, find_ollama, is_decided
from runtime.llm.client import EMBED, TRANSCRIBE, LLMClient
from runtime.llm.local import PREFIX as WHISPER
from runtime.llm.local import LocalWhisper, folder_of
from runtime.llm.models import DEFAULT, SERVICES, ModelRegistry, NoModelClient
from runtime.storage.embedded.data_directory import prepare

if TYPE_CHECKING:
    from runtime.llm.client import ModelOptions

_SERVICE_URLS = {
    "openai": "https://api.openai.com/v1",
    "groq": "https://api.groq.com/openai/v1",
    "mistral": "https://api.mistral.ai/v1",
}
"""Where providers do it by OpenAI's protocol."""

COOLDOWNS_TABLE = "cooldowns"
"""The records of models that have failed and are not asked for a while."""


async def choices(settings: Settings) -> dict[str, ModelChoice | NoModel]:
    """What each name of the settings leads to, by the name of a table, by litellm's name, or by DEFAULT."""
    names = [DEFAULT, *settings.models]
    sources = dict.fromkeys(source for name in names for source in sources_of(settings.models, name))
    return {source: await _choice(settings, source) for source in sources}


async def default_model(settings: Settings) -> ModelChoice | NoModel:
    """The first model for everything that has none of its own."""
    return (await choices(settings))[sources_of(settings.models, DEFAULT)[0]]


async def _choice(settings: Settings, source: str) -> ModelChoice | NoModel:
    keys = environment_keys()
    entry = settings.models.get(source)
    if source.startswith(WHISPER):
        return ModelChoice(source, "Whisper on this machine")
    if isinstance(entry, ModelServer):
        return choose_model(ModelSettings(entry.model, entry.base_url, api_key_file=entry.api_key_file), keys, None)
    if source != DEFAULT:
        return choose_model(ModelSettings(source), keys, None)
    wanted = ModelSettings(
        settings.model,
        settings.model_base_url,
        revealed(settings.model_api_key),
        settings.model_file,
        settings.model_api_key_file,
        OUR_KEY if OUR_KEY in keys else None,
    )
    return choose_model(wanted, keys, None if is_decided(wanted, keys) else await find_ollama())


@asynccontextmanager
async def open_models(settings: Settings, *, on_event: Tell = unheard) -> AsyncIterator[tuple[ModelRegistry, str]]:
    """The models and a line about them. What cannot be had says so when it is asked. Raises ConfigError for an unusable
    GGUF file."""
    found = await choices(settings)
    async with AsyncExitStack() as stack:
        absent: dict[str, NoModelClient] = {}
        options: dict[str, ModelOptions] = {}
        for source, choice in found.items():
            _check_use(source, choice, settings)
            try:
                options[source] = _served(source, await _options(choice, settings, stack, on_event), settings)
            except (LLMUnavailable, NotInstalled) as error:
                absent[source] = NoModelClient(str(error))
        present = await _clients(settings, options, stack, on_event) if options else {}
        cooldowns = ModelCooldowns(SystemClock())
        named: dict[str, LLMClient] = {}
        for name in [DEFAULT, *settings.models]:
            sources = sources_of(settings.models, name)
            links = [ChainLink(source, present[source]) for source in sources if source in present]
            chain = ModelChain(links, cooldowns, on_event) if len(links) > 1 else None
            named[name] = chain or next((link.client for link in links), None) or absent[sources[0]]
        models = ModelRegistry(named, cooldowns)
        yield models, _line(settings, models, found)


async def _options(
    choice: ModelChoice | NoModel, settings: Settings, stack: AsyncExitStack, on_event: Tell
) -> ModelOptions:
    """How a model is asked; the server of a GGUF file, or of Whisper, runs until `stack` is closed.

    Raises LLMUnavailable where there is no model, NotInstalled, and ConfigError.
    """
    from runtime.llm.client import ModelOptions, ModelTimeouts

    if isinstance(choice, NoModel):
        raise LLMUnavailable(choice.reason)
    base_url = choice.base_url
    if choice.name.startswith(WHISPER):
        size, limit_s = choice.name.removeprefix(WHISPER), settings.voice.wait_s
        listener = LocalWhisper(settings.data_dir, size, limit_s, SystemClock(), on_event)
        base_url = (await stack.enter_async_context(listener)).base_url
    if choice.gguf is not None:
        from runtime.llm.local import LocalGGUF

        base_url = (await stack.enter_async_context(LocalGGUF(choice.gguf))).base_url
    file = choice.api_key_file
    return ModelOptions(
        choice.name,
        base_url,
        choice.api_key,
        ModelTimeouts(first_piece_s=settings.limits.model_first_text_s, whole_s=settings.limits.model_answer_s),
        api_key_file=str(file) if file else None,
        api_key_variable=choice.api_key_variable,
    )


def whisper_folder(settings: Settings, size: str) -> Path:
    """Where a model that listens on this machine lies; what is above it is made."""
    return folder_of(prepare(settings.data_dir), size)


def _check_use(source: str, choice: ModelChoice | NoModel, settings: Settings) -> None:
    """Raise ConfigError for a model that listens and is to do something else."""
    listens = service_sources(settings.models).get(source) == SERVICES[TRANSCRIBE]
    if isinstance(choice, ModelChoice) and choice.name.startswith(WHISPER) and not listens:
        raise ConfigError(f"{choice.name} only listens: it can be models.{SERVICES[TRANSCRIBE]}, and nothing else.")


def _served(source: str, options: ModelOptions, settings: Settings) -> ModelOptions:
    """The options of what listens, speaks or tells meanings; those of other models as they are. Raises ConfigError."""
    name = service_sources(settings.models).get(source)
    if name is None:
        return options
    provider = options.name.partition("/")[0]
    url = options.base_url or _SERVICE_URLS.get(provider)
    if url is None:
        raise ConfigError(
            f"models.{name}: {options.name} is not asked by OpenAI's protocol. Name a model of "
            f"{', '.join(_SERVICE_URLS)}, or give [models.{name}] the base_url of a server that speaks it."
        )
    if name == SERVICES[EMBED]:
        wait_s = settings.memory.wait_s
        timeouts = replace(options.timeouts, first_piece_s=wait_s, whole_s=wait_s)
        return replace(options, base_url=url, timeouts=timeouts, max_retries=0, service=name)
    own = settings.voice
    timeouts = replace(options.timeouts, first_piece_s=own.wait_s, whole_s=own.wait_s)
    return replace(options, base_url=url, timeouts=timeouts, max_retries=2, service=name, speaker=own.speaker)


async def _clients(
    settings: Settings, options: Mapping[str, ModelOptions], stack: AsyncExitStack, on_event: Tell
) -> dict[str, AnsweringClient]:
    """A client for each, all of one process."""
    from runtime.llm.process import ModelProcess

    clock = SystemClock()
    process = ModelProcess(list(options.values()), model_environment(), clock, on_event, keys=hidden_keys())
    await stack.enter_async_context(process)
    found = dict[str, AnsweringClient]()
    for number, (source, one) in enumerate(options.items()):
        server = settings.models.get(source)
        told = server if isinstance(server, ModelServer) else ModelServer(model=one.name)
        kept, habit = replace(one, api_key=None), ThoughtHabit(told.thought_marks)
        found[source] = AnsweringClient(process.provider(number), kept, clock, told.prices, habit)
    return found


def _line(settings: Settings, models: ModelRegistry, found: Mapping[str, ModelChoice | NoModel]) -> str:
    """The models for people: the default and why it is that one, then those of other names."""
    default = found[sources_of(settings.models, DEFAULT)[0]]
    client = models.clients[DEFAULT]
    if isinstance(client, NoModelClient):
        line = f"none. {client.reason}"
    elif isinstance(client, AnsweringClient) and isinstance(default, ModelChoice):
        line = f"{default.name} ({default.reason})"
    else:
        line = _in_words(client)
    return "; ".join([line, *(f"{name}: {_in_words(one)}" for name, one in models.clients.items() if name != DEFAULT)])


def _in_words(client: LLMClient) -> str:
    if isinstance(client, ModelChain):
        return ", else ".join(link.client.model for link in client.links)
    return client.model


@asynccontextmanager
async def open_model(settings: Settings) -> AsyncIterator[ModelRegistry]:
    """The models, ready for requests. Raises LLMUnavailable where the default is none, ConfigError for an unusable GGUF
    file.
    """
    async with open_models(settings) as (models, _):
        default = models.clients[DEFAULT]
        if isinstance(default, NoModelClient):
            raise LLMUnavailable(default.reason)
        yield models


def named_clients(models: ModelRegistry) -> dict[LLMClient, list[str]]:
    """Each model once, with all its names."""
    found: dict[LLMClient, list[str]] = {}
    for name, client in models.all_clients.items():
        each = [link.client for link in client.links] if isinstance(client, ModelChain) else [client]
        for one in each:
            found.setdefault(one, []).append(name)
    return found


def check_programs(settings: Settings, programs: Iterable[Program]) -> None:
    """Raise ConfigError for a model that a program or a route names and the settings do not have."""
    for number, route in enumerate(settings.route, 1):
        if route.model is not None:
            check_name(settings.models, route.model, f"[[route]] {number}")
    for program in programs:
        for agent in program.agents:
            _check_spec(settings, agent, agent.name)
            for playbook in agent.playbooks:
                _check_spec(settings, playbook, f"{agent.name}.{playbook.name}")


def _check_spec(settings: Settings, spec: AgentSpec | PlaybookSpec, name: str) -> None:
    if "model" in spec.metadata:
        check_name(settings.models, spec.metadata["model"], f"{spec.span}: {name}")
