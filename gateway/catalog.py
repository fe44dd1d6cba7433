"""The platforms: a name, and how its adapter is made from the settings, one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from adapters.adapter import Adapter
from adapters.records import Records
from adapters.web.adapter import WebAdapter
from gateway.access import AccessRules
from gateway.roles import Role
from gateway.settings import Settings
from gateway.settings_platforms import PlatformSettings
from runtime.core.clock import Clock
from runtime.core.texts import Texts


@dataclass(frozen=True, slots=True)
class Listed:
    """A platform that the settings switch on. `exclusive`: one node at a time may listen to it."""

    adapter: Adapter
    rules: AccessRules
    exclusive: bool


@dataclass(frozen=True, slots=True)
class Ground:
    """What an adapter is made from. `records` opens a durable table by its name, such as `marks:discord`.

    `commands` are the commands for the platform's menu with their descriptions, `texts` what the adapter itself says,
    `programs` the names of those that people may choose.
    """

    settings: Settings
    clock: Clock
    records: Callable[[str], Records]
    commands: Mapping[str, str]
    texts: Texts
    programs: Sequence[str] = ()


Factory = Callable[[Ground], Listed | None]


def _telegram(ground: Ground) -> Listed | None:
    own = ground.settings.telegram
    if own.token is None:
        return None
    from adapters.telegram.adapter import TelegramAdapter, TelegramOptions

    options = TelegramOptions(base_url=own.base_url)
    adapter = TelegramAdapter(own.token.get_secret_value(), clock=ground.clock, options=options)
    return Listed(adapter, _rules(ground.settings, own), exclusive=True)


def _slack(ground: Ground) -> Listed | None:
    own = ground.settings.slack
    if own.bot_token is None or own.app_token is None:
        return None
    from adapters.slack.adapter import SlackAdapter, SlackOptions

    bot_token, app_token = own.bot_token.get_secret_value(), own.app_token.get_secret_value()
    adapter = SlackAdapter(bot_token, app_token, clock=ground.clock, options=SlackOptions(base_url=own.base_url))
    return Listed(adapter, _rules(ground.settings, own), exclusive=True)


def _discord(ground: Ground) -> Listed | None:
    own = ground.settings.discord
    if own.token is None:
        return None
    from adapters.discord.adapter import DiscordAdapter, DiscordOptions

    options = DiscordOptions(
        base_url=own.base_url,
        show_names=own.names,
        avatar_url=own.avatar_url,
        mention=own.mention,
        commands=ground.commands,
        programs=ground.programs,
        texts=ground.texts,
        shards=None if own.shards == "auto" else own.shards,
    )
    marks, posts = ground.records("marks:discord"), ground.records("posts:discord")
    token = own.token.get_secret_value()
    adapter = DiscordAdapter(token, clock=ground.clock, marks=marks, posts=posts, options=options)
    return Listed(adapter, _rules(ground.settings, own), exclusive=True)


def _rules(settings: Settings, own: PlatformSettings) -> AccessRules:
    groups = [settings.access.groups[name] for name in own.allow_groups]
    return AccessRules(
        own.access,
        owners=frozenset(own.owners),
        people=frozenset(own.allow_people),
        friends=frozenset(person for group in groups for person in group),
        chats=frozenset(own.allow_chats),
        spaces=frozenset(own.allow_spaces),
        visitors=Role.MEMBER if own.visitors == "member" else Role.GUEST,
        pairing_minutes=settings.access.pairing_minutes,
        open_requests=settings.access.open_requests,
    )


CATALOG: dict[str, Factory] = {
    "telegram": _telegram,
    "slack": _slack,
    "discord": _discord,
}


def platform_names() -> list[str]:
    """Every platform there is, switched on or not."""
    return ["web", *CATALOG]


def listed(ground: Ground, web: WebAdapter) -> Iterator[Listed]:
    """The web chat, which is always there, and every platform that the settings switch on."""
    yield Listed(web, AccessRules("open"), exclusive=False)
    for factory in CATALOG.values():
        made = factory(ground)
        if made is not None:
            yield made
