"""The platforms: a name, and how its adapter is made from the settings, one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from adapters.adapter import Adapter
from adapters.web.adapter import WebAdapter
from gateway.access import AccessRules
from gateway.settings import PlatformSettings, Settings
from runtime.core.clock import Clock


@dataclass(frozen=True, slots=True)
class Listed:
    """A platform that the settings switch on. `exclusive`: one node at a time may listen to it."""

    adapter: Adapter
    rules: AccessRules
    exclusive: bool


class ReadMarks(Protocol):
    """Durable: up to which message each conversation was taken, for platforms that do not keep what we missed."""

    async def all(self) -> Mapping[str, str]: ...

    async def put(self, conversation: str, message: str, /) -> None: ...


Factory = Callable[[Settings, Clock, ReadMarks], Listed | None]


def _telegram(settings: Settings, clock: Clock, _: ReadMarks) -> Listed | None:
    own = settings.telegram
    if own.token is None:
        return None
    from adapters.telegram.adapter import TelegramAdapter, TelegramOptions

    adapter = TelegramAdapter(own.token.get_secret_value(), clock=clock, options=TelegramOptions(base_url=own.base_url))
    return Listed(adapter, _rules(own), exclusive=True)


def _slack(settings: Settings, clock: Clock, _: ReadMarks) -> Listed | None:
    own = settings.slack
    if own.bot_token is None or own.app_token is None:
        return None
    from adapters.slack.adapter import SlackAdapter, SlackOptions

    bot_token, app_token = own.bot_token.get_secret_value(), own.app_token.get_secret_value()
    adapter = SlackAdapter(bot_token, app_token, clock=clock, options=SlackOptions(base_url=own.base_url))
    return Listed(adapter, _rules(own), exclusive=True)


def _discord(settings: Settings, clock: Clock, marks: ReadMarks) -> Listed | None:
    own = settings.discord
    if own.token is None:
        return None
    from adapters.discord.adapter import DiscordAdapter, DiscordOptions

    options = DiscordOptions(base_url=own.base_url)
    adapter = DiscordAdapter(own.token.get_secret_value(), clock=clock, marks=marks, options=options)
    return Listed(adapter, _rules(own), exclusive=True)


def _rules(own: PlatformSettings) -> AccessRules:
    return AccessRules(own.access, frozenset(own.allow_people), frozenset(own.allow_chats))


CATALOG: dict[str, Factory] = {
    "telegram": _telegram,
    "slack": _slack,
    "discord": _discord,
}


def listed(settings: Settings, web: WebAdapter, clock: Clock, marks: ReadMarks) -> Iterator[Listed]:
    """The web chat, which is always there, and every platform that the settings switch on."""
    yield Listed(web, AccessRules("open"), exclusive=False)
    for factory in CATALOG.values():
        made = factory(settings, clock, marks)
        if made is not None:
            yield made
