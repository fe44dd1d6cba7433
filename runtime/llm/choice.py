"""The choice of the model, with or without a name in the settings."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from anyio import to_thread
from msgspec import Struct

OLLAMA_URL = "http://127.0.0.1:11434"
_OLLAMA_LIMIT_S = 2.0

_PROVIDERS: tuple[tuple[str, str], ...] = (
    ("OPENAI_API_KEY", "openai/gpt-5.6"),
    ("ANTHROPIC_API_KEY", "anthropic/claude-sonnet-5-5"),
    ("GEMINI_API_KEY", "gemini/gemini-flash-latest"),
    ("GOOGLE_API_KEY", "gemini/gemini-flash-latest"),
    ("OPENROUTER_API_KEY", "openrouter/openrouter/auto"),
    ("MISTRAL_API_KEY", "mistral/mistral-large-latest"),
    ("GROQ_API_KEY", "groq/openai/gpt-oss-120b"),
    ("DEEPSEEK_API_KEY", "deepseek/deepseek-chat"),
)
"""Providers in the order of preference: the key's variable and the default model. Names as in litellm 1.106's model
list.
"""

_PREFIXES = frozenset(model.partition("/")[0] for _, model in _PROVIDERS) | {
    "ollama",
    "ollama_chat",
    "azure",
    "bedrock",
}


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model by litellm's name; `reason` says to people why it is this one. `gguf` is the file that a local server
    has to serve first: `base_url` is its address then and is not known yet. Of the keys one is there at most."""

    name: str
    reason: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    gguf: Path | None = None
    api_key_file: Path | None = None
    api_key_variable: str | None = None


class NoModel(Struct, frozen=True):
    """No model is available; `reason` is one sentence that says what to set."""

    reason: str


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings of the model: litellm's name, the address of an OpenAI-compatible server, a GGUF file, and the key,
    or the file or the variable that has it, which only the model's process reads."""

    name: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    gguf: Path | None = None
    api_key_file: Path | None = None
    api_key_variable: str | None = None

    @property
    def has_key(self) -> bool:
        return bool(self.api_key or self.api_key_file or self.api_key_variable)


def choose_model(
    settings: ModelSettings, variables: Collection[str], ollama_models: Sequence[str] | None
) -> ModelChoice | NoModel:
    """The named model, else a provider whose key is among the environment's `variables`, else Ollama's first model,
    else the GGUF file.

    `ollama_models` are those of `find_ollama`, None when it does not run. A base URL without a name asks for a name.
    """
    if settings.name:
        return _named(settings, variables)
    if settings.base_url:
        return NoModel(
            "A model's base URL is set but no model: set PARLEY_MODEL to the name that the server knows it by."
        )
    for variable, model in _PROVIDERS:
        if variable in variables:
            return _with_key(ModelChoice(model, f"{variable} is set"), settings, variable)
    if ollama_models:
        return ModelChoice(f"ollama_chat/{ollama_models[0]}", "Ollama runs on this machine", base_url=OLLAMA_URL)
    if settings.gguf is not None:
        return ModelChoice("openai/local", f"the GGUF file {settings.gguf.name}", gguf=settings.gguf)
    return NoModel(_nothing_found(ollama_models))


def is_decided(settings: ModelSettings, variables: Collection[str]) -> bool:
    """Whether the model is chosen already, without a look at what an Ollama has."""
    return bool(settings.name or settings.base_url) or any(variable in variables for variable, _ in _PROVIDERS)


async def find_ollama(base_url: str = OLLAMA_URL) -> list[str] | None:
    """The names of the models that an Ollama has, newest first; None when none answers within 0.3 s.

    https://github.com/ollama/ollama/blob/main/docs/api.md, List Local Models.
    """
    try:
        return await to_thread.run_sync(_models_at, base_url, abandon_on_cancel=True)
    except (HTTPException, OSError, ValueError, LookupError, TypeError):
        return None


def _models_at(base_url: str) -> list[str]:
    url = urlsplit(f"{base_url}/api/tags")
    with closing(HTTPConnection(url.hostname or "", url.port, timeout=_OLLAMA_LIMIT_S)) as connection:
        connection.request("GET", url.path)
        answer = connection.getresponse()
        if answer.status != 200:
            raise ValueError(answer.reason)
        return [str(model["name"]) for model in json.loads(answer.read())["models"]]


def _named(settings: ModelSettings, variables: Collection[str]) -> ModelChoice:
    name = settings.name or ""
    prefix, slash, _ = name.partition("/")
    if settings.base_url and not (slash and prefix in _PREFIXES):
        name = f"openai/{name}"
    found = None
    if not settings.base_url:  # a provider's key never goes to a server of one's own
        provider = f"{name.partition('/')[0]}/"
        found = next((one for one, model in _PROVIDERS if one in variables and model.startswith(provider)), None)
    return _with_key(ModelChoice(name, "as set", base_url=settings.base_url), settings, found)


def _with_key(choice: ModelChoice, settings: ModelSettings, variable: str | None) -> ModelChoice:
    """The choice with the key of the settings, else with the key in a provider's own variable."""
    if not settings.has_key:
        return replace(choice, api_key_variable=variable)
    return replace(
        choice,
        api_key=settings.api_key,
        api_key_file=settings.api_key_file,
        api_key_variable=settings.api_key_variable,
    )


def _nothing_found(ollama_models: Sequence[str] | None) -> str:
    ollama = "Ollama runs but has no model (ollama pull …)" if ollama_models == [] else "start Ollama"
    return (
        "No language model is set up: set PARLEY_MODEL with its provider's key (for example OPENAI_API_KEY or "
        f"ANTHROPIC_API_KEY), or {ollama}, or name a GGUF file."
    )
