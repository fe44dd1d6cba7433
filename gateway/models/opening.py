"""The models of the settings, opened for requests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import SecretStr

from gateway.settings.hidden_keys import OUR_KEY, hidden_keys
from gateway.settings.models import ModelServer, check_name, source_of
from gateway.settings.tree import Settings, environment_keys, model_environment
from runtime.core.clock import SystemClock
from runtime.core.errors import LLMUnavailable, NotInstalled
from runtime.events.happening import Tell, unheard
from runtime.language.program import AgentSpec, PlaybookSpec, Program
from runtime.llm.choice import ModelChoice, ModelSettings, NoModel, choose_model, find_ollama
from runtime.llm.client import LLMClient
from runtime.llm.local import NoModelClient
from runtime.llm.models import DEFAULT, Models

if TYPE_CHECKING:
    from runtime.llm.options import ModelOptions


async def choices(settings: Settings) -> dict[str, ModelChoice | NoModel]:
    """What each name of the settings leads to, by the name of a table, by litellm's name, or by DEFAULT."""
    sources = dict.fromkeys(source_of(settings.models, name) for name in [DEFAULT, *settings.models])
    return {source: await _choice(settings, source) for source in sources}


async def default_model(settings: Settings) -> ModelChoice | NoModel:
    """The model for everything that has none of its own."""
    return (await choices(settings))[source_of(settings.models, DEFAULT)]


async def _choice(settings: Settings, source: str) -> ModelChoice | NoModel:
    keys = environment_keys()
    entry = settings.models.get(source)
    if isinstance(entry, ModelServer):
        return choose_model(ModelSettings(entry.model, entry.base_url, api_key_file=entry.api_key_file), keys, None)
    if source != DEFAULT:
        return choose_model(ModelSettings(source), keys, None)
    wanted = ModelSettings(
        settings.model,
        settings.model_base_url,
        _plain(settings.model_api_key),
        settings.model_file,
        settings.model_api_key_file,
        OUR_KEY if OUR_KEY in keys else None,
    )
    return choose_model(wanted, keys, await find_ollama())


@asynccontextmanager
async def open_models(settings: Settings, *, on_event: Tell = unheard) -> AsyncIterator[tuple[Models, str]]:
    """The models and a line about them. What cannot be had says so when it is asked. Raises ConfigError for an unusable
    GGUF file."""
    found = await choices(settings)
    async with AsyncExitStack() as stack:
        clients: dict[str, LLMClient] = {}
        options: dict[str, ModelOptions] = {}
        for source, choice in found.items():
            try:
                options[source] = await _options(choice, settings, stack)
            except (LLMUnavailable, NotInstalled) as error:
                clients[source] = NoModelClient(str(error))
        if options:
            clients |= await _clients(options, stack, on_event)
        named = {name: clients[source_of(settings.models, name)] for name in [DEFAULT, *settings.models]}
        models = Models(named)
        yield models, _line(settings, models, found)


async def _options(choice: ModelChoice | NoModel, settings: Settings, stack: AsyncExitStack) -> ModelOptions:
    """How a model is asked; the server of a GGUF file runs until `stack` is closed.

    Raises LLMUnavailable where there is no model, NotInstalled, and ConfigError.
    """
    from runtime.llm.options import ModelOptions, ModelTimeouts

    if isinstance(choice, NoModel):
        raise LLMUnavailable(choice.reason)
    base_url = choice.base_url
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


async def _clients(options: Mapping[str, ModelOptions], stack: AsyncExitStack, on_event: Tell) -> dict[str, LLMClient]:
    """A client for each, all of one process."""
    from runtime.llm.answering import AnsweringClient
    from runtime.llm.process import ModelProcess

    clock = SystemClock()
    process = ModelProcess(list(options.values()), model_environment(), clock, on_event, keys=hidden_keys())
    await stack.enter_async_context(process)
    return {
        source: AnsweringClient(process.provider(number), replace(one, api_key=None), clock)
        for number, (source, one) in enumerate(options.items())
    }


def _line(settings: Settings, models: Models, found: Mapping[str, ModelChoice | NoModel]) -> str:
    """The models for people: the default and why it is that one, then those of other names."""
    default = found[source_of(settings.models, DEFAULT)]
    client = models.clients[DEFAULT]
    if isinstance(client, NoModelClient):
        line = f"none. {client.reason}"
    else:
        assert isinstance(default, ModelChoice)
        line = f"{default.name} ({default.reason})"
    others = [f"{name}: {client.model}" for name, client in models.clients.items() if name != DEFAULT]
    return "; ".join([line, *others])


@asynccontextmanager
async def open_model(settings: Settings) -> AsyncIterator[Models]:
    """The models, ready for requests. Raises LLMUnavailable where the default is none, ConfigError for an unusable GGUF
    file.
    """
    async with open_models(settings) as (models, _):
        default = models.clients[DEFAULT]
        if isinstance(default, NoModelClient):
            raise LLMUnavailable(default.reason)
        yield models


def named_clients(models: Models) -> dict[LLMClient, list[str]]:
    """Each model once, with all its names."""
    found: dict[LLMClient, list[str]] = {}
    for name, client in models.clients.items():
        found.setdefault(client, []).append(name)
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


def _plain(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()
