"""The settings' table of models: one for each purpose, and those that programs and routes name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, get_args

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from gateway.settings.forms import FilePath, SettingsSection, check_readable
from runtime.core.errors import ConfigError
from runtime.core.near_names import name_advice
from runtime.llm.client import EMBED, Service, TokenPrices
from runtime.llm.models import DEFAULT, PURPOSES, SERVICES

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


class ModelServer(SettingsSection):
    """One `[models.<name>]`: litellm's name of a model, the address of a server of one's own, a file with its key, and
    prices in US dollars for a million tokens: those in, those of them that are cached (unset: as the others), those
    out. `thought_marks` are how a thought begins in its text, "" where the answer begins in one, and how it ends.
    """

    model: str
    base_url: str | None = None
    api_key_file: FilePath | None = None
    usd_in: float | None = Field(default=None, ge=0)
    usd_cached: float | None = Field(default=None, ge=0)
    usd_out: float | None = Field(default=None, ge=0)
    thought_marks: tuple[str, Annotated[str, Field(min_length=1)]] | None = None

    @model_validator(mode="after")
    def _has_both_prices(self) -> ModelServer:
        if (self.usd_in is None) != (self.usd_out is None) or (self.usd_cached is not None and self.usd_in is None):
            raise ValueError("a price needs both usd_in and usd_out")
        return self

    @property
    def prices(self) -> TokenPrices | None:
        if self.usd_in is None or self.usd_out is None:
            return None
        return TokenPrices(self.usd_in, self.usd_in if self.usd_cached is None else self.usd_cached, self.usd_out)


Entry = tuple[str, ...] | ModelServer
"""Models in the order of preference, or a table of its own. A model is written by litellm's name with its provider, or
is another name of the table."""


def _read(value: object) -> object:
    if not isinstance(value, Mapping):
        raise ConfigError("models must be a table; write [models] and below it names. See config/parley.toml.")
    return {name: _entry(name, entry) for name, entry in value.items()}


ModelTable = Annotated[dict[str, Entry], BeforeValidator(_read)]
"""The models by name."""


def _entry(name: str, value: object) -> Entry:
    where = f"models.{name}"
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{where} cannot be the name of a model; use small letters, digits, - and _.")
    if isinstance(value, ModelServer):
        return value
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, list | tuple) and value and all(isinstance(one, str) and one.strip() for one in value):
        return tuple(value)
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} must be a model's name, a list of names, or a table with `model` and `base_url`.")
    known = list(ModelServer.model_fields)
    for key in value:
        if key not in known:
            raise ConfigError(f'{where}: there is no key "{key}"; {name_advice(key, known)}')
    try:
        return ModelServer.model_validate(dict(value))
    except ValidationError as error:
        problem = error.errors()[0]
        place, what = ".".join([where, *map(str, problem["loc"])]), problem["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{place}: {what}. See config/parley.toml.") from error


def known_names(models: Mapping[str, Entry]) -> tuple[str, ...]:
    """The names that programs and routes may use, those of purposes first."""
    names = dict.fromkeys([DEFAULT, *PURPOSES.values(), *models])
    return tuple(name for name in names if name not in SERVICES.values())


def sources_of(models: Mapping[str, Entry], name: str, *through: str) -> tuple[str, ...]:
    """Where a name leads, in the order of preference: to names of tables, to litellm's names, or to DEFAULT where only
    the setting `model` is.

    Raises ConfigError where it leads nowhere.
    """
    if name in through:
        raise ConfigError(f"models.{name} leads back to itself: {' → '.join([*through, name])}.")
    entry = models.get(name)
    if entry is None:
        return (DEFAULT,) if name == DEFAULT else sources_of(models, DEFAULT)
    if isinstance(entry, ModelServer):
        return (name,)
    found: list[str] = []
    for one in entry:
        if "/" not in one:
            _check_known(models, one, f"models.{name}")
        found += [one] if "/" in one else sources_of(models, one, *through, name)
    return tuple(dict.fromkeys(found))


def leads_to(models: Mapping[str, Entry], name: str, *, model: str) -> set[str]:
    """The models that a name leads to, as litellm calls them. "" is the default, which is `model` where the table has
    none; the name of a purpose that has no model of its own leads nowhere. Raises ConfigError as `sources_of`.
    """
    if name in PURPOSES.values() and name not in models:
        return set()
    found = set[str]()
    for source in sources_of(models, name or DEFAULT):
        entry = models.get(source)
        if isinstance(entry, ModelServer):
            found.add(entry.model)
        else:
            found.add(model if source == DEFAULT else source)
    return found - {""}


def check_models(models: Mapping[str, Entry], *, is_model_set: bool) -> None:
    """Raise ConfigError for a name that leads nowhere, and for a default that is set twice."""
    services = service_sources(models)
    for name, entry in models.items():
        for source in sources_of(models, name):
            if source in services and services[source] != name and name not in services.values():
                raise ConfigError(f"models.{name}: {source} is for models.{services[source]} and writes no text.")
        if isinstance(entry, ModelServer) and entry.api_key_file is not None:
            check_readable(f"models.{name}.api_key_file", entry.api_key_file)
    several = [source for source, name in services.items() if name == SERVICES[EMBED]]
    if len(several) > 1:
        raise ConfigError(
            f"models.{SERVICES[EMBED]} is one model, not {len(several)}: what one says of meanings no other can read."
        )
    if is_model_set and DEFAULT in models:
        raise ConfigError(
            "model and models.default are both set; keep models.default. What model_base_url and model_api_key_file "
            'say for it belongs in a table: [models.main] with model, base_url and api_key_file, and default = "main".'
        )


def service_sources(models: Mapping[str, Entry]) -> dict[str, Service]:
    """What the names of services lead to, each with the name. Raises ConfigError for a source that is to do both."""
    found: dict[str, Service] = {}
    for name in get_args(Service):
        for source in sources_of(models, name) if name in models else ():
            if source in found:
                raise ConfigError(f"models.{name}: {source} is for models.{found[source]} already.")
            found[source] = name
    return found


def check_name(models: Mapping[str, Entry], name: object, where: str) -> None:
    """Raise ConfigError for a model that a program or a route names and the settings do not have."""
    if str(name) not in known_names(models):
        key = re.sub(r"[^a-z0-9_-]+", "-", str(name).lower()).strip("-") or "big"
        raise ConfigError(
            f'{where}: there is no model "{name}"; there are: {", ".join(known_names(models))}. Give it a model below '
            f'[models], such as {key} = "anthropic/claude-sonnet-4-5", or leave the name out.'
        )


def _check_known(models: Mapping[str, Entry], name: str, where: str) -> None:
    if name not in known_names(models):
        raise ConfigError(
            f'{where}: there is no model "{name}"; there are: {", ".join(known_names(models))}. A model of a provider '
            f'has the provider in front, as in "openai/{name}"; one at a server of your own needs a table, '
            f"[models.{name}]."
        )
