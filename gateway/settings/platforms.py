"""The settings of each platform: one section each."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from gateway.settings.forms import FilePath, SettingsSection, Words, begins_with, text_of
from runtime.core.errors import ConfigError

_HOOK = re.compile(r".*/hooks/telegram(/[\w-]+)*/?")
_TOKEN = re.compile(r"\d+:[\w-]+")

AvatarUrl = Annotated[
    str, begins_with("https://", hint="must begin with https://, such as https://example.org/{name}.png")
]


class WebSettings(SettingsSection):
    """The web chat. `port` 0 takes any free one. `public_hosts` are the names under which browsers reach it.

    Who knows the password is a member; `owners` are ids of people, as `/access list` shows them without "web:". Where
    others than this machine reach it, it needs a password, unless `open` says that it is meant for everybody there.
    `trusted_proxies` are addresses or networks whose word on who asks is taken. In `mentions_only` rooms people talk
    with each other; agents hear only what mentions or answers them. `login` is how people come in: by the one password,
    as people of a team who were invited by a link, or by what the `trusted_header` of a trusted proxy says.
    """

    host: str = "127.0.0.1"
    port: int = Field(default=8420, ge=0, le=65535)
    public_hosts: Words = ()
    owners: Words = ()
    password: SecretStr | None = None
    password_file: FilePath | None = None
    open: bool = False
    trusted_proxies: Words = ()
    mentions_only: Words = ()
    login: Literal["password", "invite", "proxy"] = "password"
    trusted_header: str = ""

    @field_validator("trusted_proxies")
    @classmethod
    def _are_addresses(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        for proxy in proxies:
            try:
                ip_network(proxy)
            except ValueError as error:
                raise ValueError(f"must be addresses or networks, such as 10.0.0.0/8; {error}") from error
        return proxies

    @property
    def on_loopback(self) -> bool:
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def for_this_machine(self) -> bool:
        """Whether it is open to everybody on this machine, and nobody else reaches it, by a proxy either."""
        doors = self.password, self.password_file, self.public_hosts, self.trusted_proxies
        return self.on_loopback and self.login == "password" and not any(doors)

    def check_door(self) -> None:
        """Raise ConfigError for a web chat that other machines reach and that asks nobody for a password, and for a
        proxy of which nothing is said."""
        if (self.login == "proxy") != bool(self.trusted_header):
            raise ConfigError('web.login = "proxy" and web.trusted_header belong together: set both, or neither.')
        if self.login == "proxy" and not self.trusted_proxies:
            raise ConfigError(
                "web.trusted_header is believed from the proxies in web.trusted_proxies only, and there are none. Set "
                "it to the address of your proxy."
            )
        if self.login != "password":
            return
        if self.on_loopback or self.password is not None or self.open:
            return
        raise ConfigError(
            f"web.host is {self.host}, so other machines reach the web chat, and there is no password. Set "
            "PARLEY_WEB__PASSWORD or web.password_file. Or set web.open = true to let everybody there talk and read."
        )

    @property
    def open_to(self) -> str:
        if self.login == "invite":
            return "the people of the team, who were invited by a link"
        if self.login == "proxy":
            return f"whom the proxy at {', '.join(self.trusted_proxies)} names in {self.trusted_header}"
        if self.password is not None:
            return "everybody who knows the password"
        names = f", and to everybody who reaches {', '.join(self.public_hosts)}" if self.public_hosts else ""
        return f"everybody on this machine{names}" if self.on_loopback else f"everybody who reaches {self.host}"


class PlatformSettings(SettingsSection):
    """The access to a platform. People, chats and spaces (workspaces, servers) are the platform's own ids.

    `owners` are people too. `allow_groups` names lists of people in `access.groups`. Those whom only the chat or the
    space lets in are guests there, or what `visitors` says. A message that is older than `max_age_minutes` when it is
    heard is summed up and not answered.
    """

    access: Literal["pairing", "allowlist", "open"] = "pairing"
    owners: Words = ()
    allow_people: Words = ()
    allow_groups: Words = ()
    allow_chats: Words = ()
    allow_spaces: Words = ()
    visitors: Literal["guest", "member"] = "guest"
    max_age_minutes: float = Field(default=60, gt=0, le=7 * 24 * 60)

    @property
    def max_age_s(self) -> float:
        """How old a message may be to be answered, in seconds."""
        return self.max_age_minutes * 60


class TelegramSettings(PlatformSettings):
    """One bot, and one more for each of `agents` (a file with its token, by the agent's name). Without a token Telegram
    is off."""

    token: SecretStr | None = None
    token_file: FilePath | None = None
    base_url: str = "https://api.telegram.org/bot"
    webhook_url: str | None = None
    listen: Literal["sessions", "mentions"] = "sessions"
    drafts: bool = False
    rich: Literal["auto", "always", "never"] = "auto"
    agents: dict[str, FilePath] = Field(default_factory=dict)

    @field_validator("base_url")
    @classmethod
    def _ends_in_bot(cls, url: str) -> str:
        if not url.startswith(("http://", "https://")) or not url.endswith("/bot"):
            raise ValueError("must be a http(s) URL that ends in /bot, such as https://api.telegram.org/bot")
        return url

    @field_validator("webhook_url")
    @classmethod
    def _is_our_hook(cls, url: str | None) -> str | None:
        parts = urlsplit(url or "")
        if url is not None and (parts.scheme not in ("http", "https") or not _HOOK.fullmatch(parts.path)):
            raise ValueError("must be a URL such as https://chat.example.org/hooks/telegram")
        return url

    def agent_tokens(self) -> dict[str, str]:
        """The tokens of the agents' bots, by agent. Raises ConfigError for a file that cannot be read."""
        tokens = {}
        for name, path in self.agents.items():
            tokens[name] = text_of(f"telegram.agents.{name}", path)
            if not _TOKEN.fullmatch(tokens[name]):
                raise ConfigError(f"telegram.agents.{name}: {path} has no bot's token; @BotFather has it.")
        return tokens


class SlackSettings(PlatformSettings):
    """One app. `base_url` unset is Slack's own Web API. Without any secret Slack is off.

    It speaks with `bot_token` in one workspace, or with `client_id` and `client_secret` in all that install it. It
    hears by Socket Mode with `app_token`, or by HTTP with `signing_secret`. `direct` says whether each direct message
    outside of threads begins a conversation in its own, or all of them are one.
    """

    bot_token: SecretStr | None = None
    bot_token_file: FilePath | None = None
    app_token: SecretStr | None = None
    app_token_file: FilePath | None = None
    signing_secret: SecretStr | None = None
    signing_secret_file: FilePath | None = None
    client_id: str | None = None
    client_secret: SecretStr | None = None
    client_secret_file: FilePath | None = None
    base_url: str | None = None
    direct: Literal["threads", "conversation"] = "threads"

    def secrets(self) -> tuple[SecretStr, ...]:
        known = (self.bot_token, self.app_token, self.signing_secret, self.client_secret)
        return tuple(secret for secret in known if secret is not None)


class DiscordSettings(PlatformSettings):
    """One bot. Without a token Discord is off. `base_url` unset is Discord's own API.

    `shards` is how many connections are opened, "auto" as many as Discord recommends. `mention` says where an answer
    stands to a message in a channel. `{name}` in `avatar_url` stands for an agent's name.
    """

    token: SecretStr | None = None
    token_file: FilePath | None = None
    base_url: str | None = None
    shards: Literal["auto"] | Annotated[int, Field(ge=1)] = "auto"
    mention: Literal["thread", "reply"] = "thread"
    names: Literal["webhooks", "headings", "never"] = "webhooks"
    avatar_url: AvatarUrl | None = None
