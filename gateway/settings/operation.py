"""Settings of what an operator decides: nodes, what is kept and for how long, encryption, extensions, access, limits on
every kind of use, files, spans and metrics. And who connects besides people in chats: clients, which are other
programs, and who logs in to the console; who they are, their tokens, and what they may.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import unquote

from pydantic import Field, SecretStr, field_validator

from gateway.clients.scopes import ClientScopes, scopes_from
from gateway.settings.forms import FilePath, HttpUrl, SettingsSection, Words, check_secret, secrets_of
from gateway.settings.sources import Layer
from runtime.core.errors import ConfigError
from runtime.core.near_names import name_advice
from runtime.sessions.idle import MOST

OWNER = "owner"
"""The role of who knows the console's own password."""
Sections = Callable[[tuple[str, ...]], Mapping[str, type[SettingsSection]]]
"""The sections of the settings that extensions add, by name, for the modules that the settings name."""

_KEY = "extensions.modules"

NodeRole = Literal["all", "front", "agents"]
"""What a process does: a front holds connections of people and programs, an agent node serves conversations."""

NO_ARCHIVE = "none"
KEYS_KEPT_DAYS = 7

_TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")
_TRACES_PATH = "/v1/traces"

_MIB = 1024 * 1024


class PublisherSettings(SettingsSection):
    """One `[publishers.<program>]`: patterns of the types of events that the program may publish, and the programs that
    may begin on them, `*` for any part of a name."""

    types: Words = ()
    begins: Words = ()

    @field_validator("types")
    @classmethod
    def _are_patterns(cls, types: tuple[str, ...]) -> tuple[str, ...]:
        scopes_from(f"events:write:{pattern}" for pattern in types)
        return types


def publisher_scopes(publishers: Mapping[str, PublisherSettings]) -> dict[str, ClientScopes]:
    return {name: ClientScopes(events_write=each.types, triggers=each.begins) for name, each in publishers.items()}


class ClientSettings(SettingsSection):
    """One `[clients.<name>]`: the file with its token, and its scopes. Without a scope it may do nothing."""

    token_file: FilePath
    scopes: Words = ()

    @field_validator("scopes")
    @classmethod
    def _are_scopes(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        scopes_from(scopes)
        return scopes


Clients = Mapping[str, ClientSettings]
"""The clients by name."""


def client_scopes(clients: Clients) -> dict[str, ClientScopes]:
    return {name: scopes_from(client.scopes) for name, client in clients.items()}


def client_tokens(clients: Clients) -> dict[str, str]:
    """The tokens by the clients' names. Raises ConfigError as `secrets_of`."""
    return secrets_of("clients.{}.token_file", {name: client.token_file for name, client in clients.items()}, "client")


class ConsoleSettings(SettingsSection):
    """The console at /console. Owners of the web chat are owners there, and so is who knows the password.

    `roles` are files with the passwords of further roles, by their names: those see states and numbers, and no words of
    people and models. Owners can change something there only with `acts`, and read what is said in private and direct
    rooms of the web chat only with `private`.
    """

    password: SecretStr | None = None
    password_file: FilePath | None = None
    acts: bool = False
    private: bool = False
    roles: dict[str, FilePath] = Field(default_factory=dict)

    @property
    def has_passwords(self) -> bool:
        return self.password is not None or bool(self.roles)

    def passwords(self) -> dict[str, str]:
        """The passwords by role. Raises ConfigError as `secrets_of`."""
        if OWNER in self.roles:
            raise ConfigError(f'console.roles: "{OWNER}" cannot be the name of a role; console.password is for owners.')
        found = secrets_of("console.roles.{}", self.roles, "role", "password")
        if self.password is not None:
            own = self.password.get_secret_value()
            check_secret("console.password", own, "password")
            if own in found.values():
                raise ConfigError("console.password: another role has this password; give each its own.")
            found[OWNER] = own
        return found

    def words(self) -> frozenset[str]:
        return frozenset(self.passwords().values())


class ExtensionSettings(SettingsSection):
    """`modules` are Python modules with an `extension` each. Packages with an entry point need no entry here."""

    modules: Words = ()


def added_fields(layers: Sequence[Layer], sections: Sections, own: Collection[str]) -> dict[str, Any]:
    """The fields that extensions add to the settings. Raises ConfigError for one of Parley's `own`."""
    named = next((layer.values[_KEY] for layer in layers if _KEY in layer.values), ())
    added = sections(ExtensionSettings.model_validate({"modules": named}).modules)
    for name in added:
        if name in own:
            raise ConfigError(
                f'an extension adds the section "{name}", which is one of Parley; take the extension out.'
            )
    return {name: (section, section()) for name, section in added.items()}


class NodeSettings(SettingsSection):
    """The division of work among nodes. Times are in seconds: how long a silent node keeps its shards, how long a stop
    waits for running work, and how long an idle conversation stays in memory, of which there are at most `resting`.
    """

    role: NodeRole = "all"
    lease_s: float = Field(default=3, ge=1, le=300)
    drain_s: float = Field(default=20, ge=0)
    idle_s: float = Field(default=60, gt=0)
    resting: int = Field(default=MOST, ge=1)

    @property
    def people_come(self) -> bool:
        """Whether this process holds connections of people and programs."""
        return self.role != "agents"

    def check_role(self, redis_url: str | None, *, debugs: bool) -> None:
        """Raise ConfigError for a role that cannot be played with this database, or under a debugger."""
        if self.role != "all" and redis_url is None:
            raise ConfigError(
                f"nodes.role is {self.role}, and there is no database that fronts and agent nodes share. Set "
                "PARLEY_REDIS_URL, or start all of them on this machine with `parley run --role standby`."
            )
        if self.role == "front" and debugs:
            raise ConfigError("A front serves no conversation that could be debugged. Give --debug to an agent node.")


class AgentSettings(SettingsSection):
    """The agent nodes that `parley run --role standby` starts."""

    processes: int = Field(default=2, ge=1, le=64)


class EncryptionSettings(SettingsSection):
    """With which keys content is encrypted where it is stored; without any it is not.

    `keys` are lines of `parley setup keys new`: the first is used for writing, all for reading. `conversations`
    are patterns of keys of conversations, with `*` for anything; what matches none is written as it is.
    """

    keys: SecretStr | None = None
    keys_file: FilePath | None = None
    conversations: Words = ("*",)

    def key_words(self) -> frozenset[str]:
        text = "" if self.keys is None else self.keys.get_secret_value()
        words = [word for line in text.splitlines() for word in line.partition("#")[0].split()]
        return frozenset(word.partition(":")[2] or word for word in words)


class RetentionSettings(SettingsSection):
    """In days since the last thing that happened in a session or a notebook; 0 is never.

    `archive_url` is "sqlite:///<path>", "postgresql://…" or "none". Unset it is a SQLite file in the data directory,
    and with a Redis of your own, which several machines may use, there is none.
    """

    archive_url: str | None = None
    archive_after_days: float = Field(default=30, ge=0)
    delete_after_days: float = Field(default=0, ge=0)
    replaced_days: float = Field(default=14, ge=0)
    tasks_days: float = Field(default=30, ge=0)
    notebooks_days: float = Field(default=0, ge=0)

    @field_validator("notebooks_days")
    @classmethod
    def _outlasts_keys(cls, days: float) -> float:
        if 0 < days < KEYS_KEPT_DAYS:
            raise ValueError(
                f"must be 0 for never, or at least {KEYS_KEPT_DAYS}: Parley knows the keys of writes for that long"
            )
        return days

    @field_validator("archive_url")
    @classmethod
    def _is_archive(cls, url: str | None) -> str | None:
        known = ("sqlite:///", "postgresql://", "postgres://")
        if url is not None and url != NO_ARCHIVE and not url.startswith(known):
            raise ValueError('must be "none", or a URL with sqlite:/// or postgresql://')
        return url


class TracingSettings(SettingsSection):
    """Spans for a collector that speaks OTLP over HTTP.

    `endpoint` is the whole URL for posts. `headers` are lines of `name=value`. `content`: spans include what people and
    models write. `share` is the part of all sessions that is traced.
    """

    on: bool = False
    endpoint: HttpUrl | None = None
    headers: SecretStr | None = None
    headers_file: FilePath | None = None
    content: bool = False
    share: float = Field(default=1, ge=0, le=1)
    timeout_s: float = Field(default=5, gt=0, le=60)

    @field_validator("headers")
    @classmethod
    def _are_headers(cls, headers: SecretStr | None) -> SecretStr | None:
        for name, value in _pairs("" if headers is None else headers.get_secret_value()):
            if not name or not value:
                raise ValueError("must be lines of name=value")
        return headers

    def target(self, variables: Mapping[str, str]) -> str | None:
        """The URL for posts: ours, else that of OpenTelemetry's own variables; None if neither is set."""
        if self.endpoint is not None:
            return self.endpoint
        if whole := variables.get(_TRACES_ENDPOINT):
            return whole
        begun = variables.get(_ENDPOINT)
        return begun.rstrip("/") + _TRACES_PATH if begun else None

    def sent_headers(self, variables: Mapping[str, str]) -> dict[str, str]:
        """The headers to send: OpenTelemetry's variables (percent-encoded, separated by commas), overridden by ours."""
        found: dict[str, str] = {}
        for variable in _HEADERS:
            lines = variables.get(variable, "").replace(",", "\n")
            found |= {unquote(name).lower(): unquote(value) for name, value in _pairs(lines)}
        own = "" if self.headers is None else self.headers.get_secret_value()
        return found | {name.lower(): value for name, value in _pairs(own)}

    def words(self) -> frozenset[str]:
        own = "" if self.headers is None else self.headers.get_secret_value()
        return frozenset(word for _, value in _pairs(own) for word in (value, value.rpartition(" ")[2]))


class MetricsSettings(SettingsSection):
    """`/metrics` answers requests with the `token`, and none while it is unset."""

    token: SecretStr | None = None
    token_file: FilePath | None = None


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if line.strip():
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()


class AccessSettings(SettingsSection):
    """Access on all platforms. `groups` are lists of people by name, each entry `<platform>:<id>`."""

    groups: dict[str, Words] = Field(default_factory=dict)
    pairing_minutes: float = Field(default=60, gt=0)
    open_requests: int = Field(default=20, ge=0)

    def check(self, used: Mapping[str, Iterable[str]]) -> None:
        """Raise ConfigError for an entry that can be no person, and for a group in `used`, by key, that is unknown."""
        for name, people in self.groups.items():
            for person in people:
                if not person.partition(":")[2]:
                    raise ConfigError(f'access.groups.{name}: "{person}" is not a person; write <platform>:<id>.')
        for key, names in used.items():
            for name in names:
                if name not in self.groups:
                    advice = name_advice(name, self.groups, "write it under [access.groups].")
                    raise ConfigError(f'{key}: there is no group "{name}"; {advice}')


class LimitSettings(SettingsSection):
    """The limits on amounts. Texts are counted in characters, times in seconds, spending in US dollars and in tokens.

    What a person or a conversation may use in a minute or a day (UTC) has no limit while it is 0.
    """

    message_chars: int = Field(default=32_000, ge=1)
    transcript_chars: int = Field(default=100_000, ge=1_000)
    model_first_text_s: float = Field(default=90, gt=0)
    model_answer_s: float = Field(default=600, gt=0)
    person_messages_per_minute: int = Field(default=0, ge=0)
    person_messages_per_day: int = Field(default=0, ge=0)
    person_usd_per_day: float = Field(default=0, ge=0)
    person_tokens_per_day: int = Field(default=0, ge=0)
    conversation_messages_per_minute: int = Field(default=0, ge=0)
    conversation_messages_per_day: int = Field(default=0, ge=0)
    conversation_usd_per_day: float = Field(default=0, ge=0)
    conversation_tokens_per_day: int = Field(default=0, ge=0)


class ContextSettings(SettingsSection):
    """What a program is told of what was said in a place before it was first spoken to there: the number of messages,
    0 for none, their characters, their age, and how many of their files are read. How many hours what a bot hears in
    groups is kept where the platform cannot be asked for it; 0 keeps nothing."""

    messages: int = Field(default=50, ge=0, le=200)
    chars: int = Field(default=20_000, ge=0)
    hours: float = Field(default=168, gt=0)
    files: int = Field(default=5, ge=0)
    keep_hours: float = Field(default=0, ge=0, le=168)
