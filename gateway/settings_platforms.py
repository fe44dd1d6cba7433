"""The settings of each platform: one section each."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr, field_validator

from gateway.settings_forms import FilePath, Section, Words


class WebSettings(Section):
    """The web chat. `port` 0 takes any free one. `public_hosts` are the names under which browsers reach it."""

    host: str = "127.0.0.1"
    port: int = Field(default=8420, ge=0, le=65535)
    public_hosts: Words = ()
    password: SecretStr | None = None
    password_file: FilePath | None = None


class PlatformSettings(Section):
    """Who may talk on a platform. People, chats and spaces (workspaces, servers) are the platform's own ids.

    `owners` are people too. `allow_groups` names lists of people in `access.groups`. Those whom only the chat or the
    space lets in are guests there, or what `visitors` says.
    """

    access: Literal["pairing", "allowlist", "open"] = "pairing"
    owners: Words = ()
    allow_people: Words = ()
    allow_groups: Words = ()
    allow_chats: Words = ()
    allow_spaces: Words = ()
    visitors: Literal["guest", "member"] = "guest"


class TelegramSettings(PlatformSettings):
    """One bot. Without a token Telegram is off."""

    token: SecretStr | None = None
    token_file: FilePath | None = None
    base_url: str = "https://api.telegram.org/bot"

    @field_validator("base_url")
    @classmethod
    def _ends_in_bot(cls, url: str) -> str:
        if not url.startswith(("http://", "https://")) or not url.endswith("/bot"):
            raise ValueError("must be a http(s) URL that ends in /bot, such as https://api.telegram.org/bot")
        return url


class SlackSettings(PlatformSettings):
    """One app in one workspace. Without both tokens Slack is off. `base_url` unset is Slack's own Web API."""

    bot_token: SecretStr | None = None
    bot_token_file: FilePath | None = None
    app_token: SecretStr | None = None
    app_token_file: FilePath | None = None
    base_url: str | None = None


class DiscordSettings(PlatformSettings):
    """One bot. Without a token Discord is off. `base_url` unset is Discord's own API."""

    token: SecretStr | None = None
    token_file: FilePath | None = None
    base_url: str | None = None
