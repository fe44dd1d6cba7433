"""Every setting, as one frozen tree, and the only place that reads the environment.

Sources, the first that says something wins: command line, environment (PARLEY_…), .env here, parley.toml, defaults.
Every key with its unit and default stands in config/parley.toml."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, create_model
from pydantic.fields import FieldInfo

from gateway.features.a2a.settings import A2aSettings
from gateway.features.files.settings import FileSettings
from gateway.features.mcp.settings import McpSettings
from gateway.features.memories.settings import MemorySettings
from gateway.features.notebooks.settings import TapeSettings
from gateway.features.participants.settings import ParticipantSettings
from gateway.features.remote.settings import RemoteSettings, ToolSettings
from gateway.features.reports.settings import ReportSettings
from gateway.features.schedules.settings import CronSettings, ScheduleSettings, read_cron
from gateway.features.tasks.settings import TaskSettings
from gateway.features.voice.settings import VoiceSettings
from gateway.settings import execution as executing
from gateway.settings import operation, sources
from gateway.settings.forms import FilePath, HttpUrl, SettingsSection, begins_with, check_readable, text_of
from gateway.settings.hidden_keys import OUR_KEY, dotenv_file, dotenv_variables, hidden_keys, read_key
from gateway.settings.models import ModelTable, check_models
from gateway.settings.platforms import DiscordSettings, PlatformSettings, SlackSettings, TelegramSettings, WebSettings
from runtime.core.errors import ConfigError

INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER")
"""The variables that a started process sees besides those named by its program."""

MASK = "********"

TABLES = frozenset({"access.groups", "models", "tasks.places", *sources.FILE_TABLES})
"""Sections whose keys the user chooses."""
NAMED_TABLES = frozenset({"clients", "models", "publishers"})
"""Sections with a table for each name that the user chooses."""

_PASSWORD = re.compile(r"(?<=://).*@")  # in a URL: what stands before its host

RedisUrl = Annotated[
    str, begins_with("redis://", "rediss://", "unix://", hint="must be a URL with redis://, rediss:// or unix://")
]


class Settings(BaseModel):
    """The whole tree. Make one with `load`."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), defer_build=True)

    model: str | None = None
    model_base_url: HttpUrl | None = None
    model_api_key: SecretStr | None = None
    model_api_key_file: FilePath | None = None
    model_file: FilePath | None = None
    models: ModelTable = Field(default_factory=dict)
    compiler: Literal["auto", "rules"] = "auto"
    language: str = "en"
    feedback: bool = True
    texts_dir: FilePath | None = None
    redis_url: RedisUrl | None = None
    data_dir: FilePath = Field(default_factory=lambda: sources.default_data_dir(os.environ))
    busy: executing.Busy = "queue"
    route: tuple[executing.RouteSettings, ...] = ()
    cron: tuple[CronSettings, ...] = ()
    programs: executing.ProgramSettings = Field(default_factory=executing.ProgramSettings)
    extensions: operation.ExtensionSettings = Field(default_factory=operation.ExtensionSettings)
    access: operation.AccessSettings = Field(default_factory=operation.AccessSettings)
    web: WebSettings = Field(default_factory=WebSettings)
    console: operation.ConsoleSettings = Field(default_factory=operation.ConsoleSettings)
    telegram: TelegramSettings = Field(default_factory=TelegramSettings)
    slack: SlackSettings = Field(default_factory=SlackSettings)
    discord: DiscordSettings = Field(default_factory=DiscordSettings)
    limits: operation.LimitSettings = Field(default_factory=operation.LimitSettings)
    context: operation.ContextSettings = Field(default_factory=operation.ContextSettings)
    files: FileSettings = Field(default_factory=FileSettings)
    voice: VoiceSettings = Field(default_factory=VoiceSettings)
    meetings: executing.MeetingSettings = Field(default_factory=executing.MeetingSettings)
    tasks: TaskSettings = Field(default_factory=TaskSettings)
    schedules: ScheduleSettings = Field(default_factory=ScheduleSettings)
    memory: MemorySettings = Field(default_factory=MemorySettings)
    nodes: operation.NodeSettings = Field(default_factory=operation.NodeSettings)
    agents: operation.AgentSettings = Field(default_factory=operation.AgentSettings)
    remote: RemoteSettings = Field(default_factory=RemoteSettings)
    tools: ToolSettings = Field(default_factory=ToolSettings)
    participants: ParticipantSettings = Field(default_factory=ParticipantSettings)
    clients: dict[str, operation.ClientSettings] = Field(default_factory=dict)
    publishers: dict[str, operation.PublisherSettings] = Field(default_factory=dict)
    mcp: McpSettings = Field(default_factory=McpSettings)
    a2a: A2aSettings = Field(default_factory=A2aSettings)
    tapes: TapeSettings = Field(default_factory=TapeSettings)
    retention: operation.RetentionSettings = Field(default_factory=operation.RetentionSettings)
    reports: ReportSettings = Field(default_factory=ReportSettings)
    encryption: operation.EncryptionSettings = Field(default_factory=operation.EncryptionSettings)
    execution: executing.ExecutionSettings = Field(default_factory=executing.ExecutionSettings)
    sandbox: executing.SandboxSettings = Field(default_factory=executing.SandboxSettings)
    logs: executing.LogSettings = Field(default_factory=executing.LogSettings)
    tracing: operation.TracingSettings = Field(default_factory=operation.TracingSettings)
    metrics: operation.MetricsSettings = Field(default_factory=operation.MetricsSettings)

    @property
    def asks_alone(self) -> bool:
        """Whether a model is asked one question at a time: by the settings, else for a model in a local file."""
        said = self.execution.questions
        return said == "alone" or (said == "auto" and self.model is None and self.model_file is not None)

    @property
    def has_console(self) -> bool:
        """Whether there is a console: somebody has a password, or the chat is for this machine alone."""
        return self.console.has_passwords or self.web.for_this_machine

    @property
    def platform_names(self) -> list[str]:
        """The names of all platforms, switched on or not."""
        return [name for name, section in self if isinstance(section, PlatformSettings | WebSettings)]

    @property
    def is_overseen(self) -> bool:
        """Whether somebody sees from outside what goes on in sessions: at the console, or as a client."""
        return self.has_console or bool(self.clients)


def load(
    *,
    config: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    sections: operation.Sections | None = None,
) -> Settings:
    """The settings in force. `flags` are dotted keys; `environment` and `directory` are this process's unless given.
    `sections` are those of extensions.

    Raises ConfigError: the key, its place, its value (masked where secret) and what to do."""
    variables = os.environ if environment is None else environment
    here = Path.cwd() if directory is None else directory
    toml = sources.config_path(config, variables, here)
    layers = (
        sources.flag_layer(flags or {}),
        sources.environment_layer("environment", variables),
        sources.environment_layer(str(dotenv_file(here, variables)), _dotenv(here, variables)),
        sources.toml_layer(toml),
        sources.Layer("defaults", {"data_dir": sources.default_data_dir(variables)}, str),
    )
    fields = {} if sections is None else operation.added_fields(layers, sections, Settings.model_fields)
    tree = create_model("Settings", __base__=Settings, **fields) if fields else Settings
    _refuse_secrets(layers[3], tree)
    wrong, known = list[str](), list[sources.Layer]()
    for layer in layers:
        sources.refuse_secrets_for_files(layer)
        unknown = layer.unknown(keys(tree), tables=TABLES, named_tables=NAMED_TABLES)
        wrong += unknown.values()
        known.append(replace(layer, values={key: one for key, one in layer.values.items() if key not in unknown}))
    try:
        settings = _built([_with_tables(layer, here, toml) for layer in known], tree)
    except ConfigError as error:
        if not wrong:
            raise
        wrong.append(str(error))
    if wrong:
        raise ConfigError("\n".join(wrong))
    if settings.model_api_key_file is not None and OUR_KEY in hidden_keys(variables):
        raise _given_twice("model_api_key")
    used = {key: value_at(settings, key) for key in keys(tree) if key.endswith(".allow_groups")}
    settings.access.check(used)
    check_models(settings.models, is_model_set=settings.model is not None)
    settings.web.check_door()
    for name, on in {"mcp": settings.mcp.on, "a2a": settings.a2a.on}.items():
        if on and not settings.clients:
            raise ConfigError(f"{name}.on is true without clients. Write [clients.<name>]: docs/connecting/{name}.md.")
    return settings


def _fields(section: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """The dotted keys of a section and of those below it, each with its field."""
    for name, field in section.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, SettingsSection):
            yield from _fields(field.annotation, f"{prefix}{name}.")
        else:
            yield prefix + name, field


def keys(tree: type[BaseModel] = Settings) -> Iterator[str]:
    return (key for key, _ in _fields(tree))


def secret_keys(tree: type[BaseModel] = Settings) -> Iterator[str]:
    """The keys that hold secrets; each has a sibling `<key>_file`."""
    return (key for key, field in _fields(tree) if SecretStr in get_args(field.annotation))


def secrets(settings: Settings) -> frozenset[str]:
    """Every secret that is set, those in files as well. Raises ConfigError for a file that cannot be read."""
    found = (value_at(settings, key) for key in secret_keys(type(settings)))
    own = frozenset(secret.get_secret_value() for secret in found if secret is not None)
    tokens = (
        settings.telegram.agent_tokens(),
        settings.participants.known(),
        operation.client_tokens(settings.clients),
    )
    files = {token for each in tokens for token in each.values()}
    return own | files | settings.console.words() | settings.encryption.key_words() | settings.tracing.words()


def changed(settings: Settings) -> dict[str, str]:
    """The settings that differ from their defaults, dotted, as text with secrets masked."""
    default = type(settings).model_construct()
    differ = (key for key in keys(type(settings)) if value_at(settings, key) != value_at(default, key))
    return {key: _masked(key, value_at(settings, key), type(settings)) for key in differ}


def environment_keys(environment: Mapping[str, str] | None = None, directory: Path | None = None) -> frozenset[str]:
    """The names of model providers' own variables (`…_API_KEY`, OLLAMA_HOST) in the environment, in .env, and among
    those hidden from this process."""
    variables = _variables(environment, directory)
    theirs = {name for name, value in variables.items() if value and _is_providers(name)}
    return frozenset(theirs | hidden_keys(variables).keys())


def remote_variables(
    settings: Settings,
    names: Iterable[str],
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> dict[str, str]:
    """The variables that programs name for their remote agents, by name: from files, the environment or .env.

    Unset ones are left out. Raises ConfigError for a file that cannot be read."""
    wanted, variables = list(names), _variables(environment, directory)
    hidden = {name: read_key(file) for name, file in hidden_keys(variables).items() if name in wanted}
    return settings.remote.named(wanted, {**variables, **hidden})


def otel_variables() -> dict[str, str]:
    return {name: value for name, value in _variables(None, None).items() if name.startswith("OTEL_")}


def process_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of every started process: paths and similar, and no secret."""
    variables = os.environ if environment is None else environment
    return {name: variables[name] for name in INHERITED if name in variables}


def model_environment(environment: Mapping[str, str] | None = None, directory: Path | None = None) -> dict[str, str]:
    """The environment of the model's process: providers' own variables, including those in .env, and none of ours."""
    own = os.environ if environment is None else environment
    variables = {name: value for name, value in _variables(environment, directory).items() if _is_providers(name)}
    variables |= {name: value for name, value in own.items() if not name.startswith(("PARLEY_", "_PARLEY_"))}
    variables["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # litellm asks the network for prices otherwise
    return variables


def _variables(environment: Mapping[str, str] | None, directory: Path | None) -> dict[str, str]:
    variables = os.environ if environment is None else environment
    return {**_dotenv(Path.cwd() if directory is None else directory, variables), **variables}


def _dotenv(here: Path, environment: Mapping[str, str]) -> dict[str, str]:
    found, hidden = dotenv_variables(dotenv_file(here, environment)), hidden_keys(environment)
    return {name: value for name, value in found.items() if name not in hidden}


def _is_providers(name: str) -> bool:
    return not name.startswith("PARLEY_") and (name.endswith("_API_KEY") or name == "OLLAMA_HOST")


def _with_tables(layer: sources.Layer, here: Path, toml: Path | None) -> sources.Layer:
    """The layer with its schedules and routes read, the programs of routes relative to its file."""
    if "cron" in layer.values:
        layer = replace(layer, values={**layer.values, "cron": read_cron(layer.values["cron"], place=layer.place)})
    if "route" not in layer.values:
        return layer
    directory = toml.absolute().parent if toml is not None and layer.place == str(toml) else here
    routes = executing.read_routes(layer.values["route"], place=layer.place, directory=directory)
    return replace(layer, values={**layer.values, "route": routes})


def _refuse_secrets(toml: sources.Layer, tree: type[Settings]) -> None:
    for key in secret_keys(tree):
        if key in toml.values:
            raise ConfigError(
                f'{toml.place}: "{key}" is a secret and does not belong in this file; '
                f"set {sources.variable_name(key)} in the environment or .env, or name a file with {key}_file."
            )
    for key, value in toml.values.items():
        if key.endswith("_url") and _PASSWORD.search(str(value)):
            raise ConfigError(
                f'{toml.place}: "{key}" carries a password, which does not belong in this file; '
                f"set {sources.variable_name(key)} in the environment or .env."
            )


def _built(layers: Sequence[sources.Layer], tree: type[Settings]) -> Settings:
    sections: dict[str, Any] = {key.partition(".")[0]: {} for key in keys(tree) if "." in key}
    values = reduce(sources.merged, (sources.nested(layer.values) for layer in reversed(layers)), sections)
    try:
        return _with_secret_files(tree.model_validate(values))
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(layers, problem, tree) for problem in error.errors())) from error


def _explain(layers: Sequence[sources.Layer], problem: Any, tree: type[Settings]) -> str:
    key = ".".join(str(part) for part in problem["loc"] if isinstance(part, str))
    layer = next((layer for layer in layers if key in layer.values), layers[-1])
    text = problem["msg"].removeprefix("Value error, ")
    value = _masked(key, problem["input"], tree)
    return f'{layer.place}: {layer.spell(key)} is "{value}": {text[0].lower() + text[1:]}. See config/parley.toml.'


def _with_secret_files(settings: Settings) -> Settings:
    """The settings with every `<key>_file` read into its key, but for the model's, which is only tried. Both at once
    are refused: which counts?"""
    for key in secret_keys(type(settings)):
        if (path := value_at(settings, f"{key}_file")) is None:
            continue
        if value_at(settings, key) is not None:
            raise _given_twice(key)
        if key == "model_api_key":  # only the model's process reads it
            check_readable(f"{key}_file", path)
            continue
        secret = SecretStr(text_of(f"{key}_file", path))
        section, _, name = key.rpartition(".")
        part = {name: secret}
        part = {section: getattr(settings, section).model_copy(update=part)} if section else part
        settings = settings.model_copy(update=part)
    return settings


def _given_twice(key: str) -> ConfigError:
    return ConfigError(f"{key} and {key}_file are both set; keep one of them.")


def value_at(settings: Settings, key: str) -> Any:
    """What a dotted key has."""
    return reduce(getattr, key.split("."), settings)


def _masked(key: str, value: Any, tree: type[Settings]) -> str:
    if key in set(secret_keys(tree)):
        return MASK
    if key in ("cron", "route", *NAMED_TABLES):
        return f"{len(value)} table{'s' if len(value) != 1 else ''}"
    text = ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    return _PASSWORD.sub(f"{MASK}@", text) if key.endswith("_url") else text
