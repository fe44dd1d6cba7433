"""The platforms: a name, and how its adapter is made from the settings, one line each."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct, field

from adapters.adapter import Adapter, Admits, HandsOver, everybody_may
from adapters.records import Records
from adapters.web.adapter import WebAdapter
from gateway.access.admission import AccessRules
from gateway.access.people import Role
from gateway.extensions.extension import ExtensionPlatform, PlatformParts, handing_over, load_extensions, waiting_for
from gateway.inbound.commands import ALONE
from gateway.settings.forms import revealed
from gateway.settings.platforms import PlatformSettings
from gateway.settings.tree import Settings
from runtime.core.clock import Clock
from runtime.core.errors import ConfigError
from runtime.core.texts import Texts

_log = logging.getLogger("adapters.extensions")


class ListedPlatform(Struct, frozen=True):
    """A platform that the settings switch on. `exclusive`: only one node at a time may listen to it. `max_age_s` is how
    old a message may be to be answered; None: as old as it is."""

    adapter: Adapter
    rules: AccessRules
    exclusive: bool
    max_age_s: float | None = None


class AdapterGround(Struct, frozen=True):
    """The parts from which an adapter is made.

    `records` opens a durable table by its name, such as `marks:discord`. `commands` are the commands for the platform's
    menu with their descriptions, `translations` the descriptions in other languages, by language. `texts` are the
    adapter's own sentences. `programs` are the names of programs that people may choose. `admits` is asked before
    anything is opened for a person. `prompts` gives the messages that people on a platform are offered to begin with.
    """

    settings: Settings
    clock: Clock
    records: Callable[[str], Records]
    commands: Mapping[str, str]
    texts: Texts
    translations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    programs: Sequence[str] = ()
    admits: Admits = everybody_may
    prompts: Callable[[str], Sequence[str]] = lambda _platform: ()


Factory = Callable[[AdapterGround], ListedPlatform | None]


class PlatformKind(Struct, frozen=True):
    """A platform that Parley knows. The factory returns None if the settings leave it off; `switch` names the setting
    that switches it on.
    """

    factory: Factory
    switch: str


def _telegram(ground: AdapterGround) -> ListedPlatform | None:
    own = ground.settings.telegram
    if own.token is None:
        return None
    from adapters.telegram.adapter import TelegramAdapter
    from adapters.telegram.options import TelegramOptions

    options = TelegramOptions(
        base_url=own.base_url,
        agents=own.agent_tokens(),
        webhook_url=own.webhook_url,
        listen=own.listen,
        drafts=own.drafts,
        rich=own.rich,
        commands=ground.commands,
        translations=ground.translations,
        alone=ALONE,
        chats=own.allow_chats,
        hands_over=_hands_over(ground, "telegram"),
        keep_hours=ground.settings.context.keep_hours,
    )
    records = ground.records("telegram")
    adapter = TelegramAdapter(own.token.get_secret_value(), clock=ground.clock, records=records, options=options)
    return ListedPlatform(
        adapter, _rules(ground.settings, own), exclusive=own.webhook_url is None, max_age_s=own.max_age_s
    )


def _slack(ground: AdapterGround) -> ListedPlatform | None:
    own = ground.settings.slack
    if not own.secrets():
        return None
    from adapters.slack.adapter import SlackAdapter, SlackKeys, SlackOptions, keys_missing
    from adapters.slack.inbound.oauth import AppKeys

    several = own.client_id is not None and own.client_secret is not None
    keys = SlackKeys(
        bot_token=revealed(own.bot_token),
        app_token=revealed(own.app_token),
        signing_secret=revealed(own.signing_secret),
        app=AppKeys(own.client_id or "", revealed(own.client_secret) or "") if several else None,
        installations=ground.records("installations:slack") if several else None,
    )
    if missing := keys_missing(keys):
        raise ConfigError(f"Slack is only half set up; also set {missing}.")
    options = SlackOptions(
        base_url=own.base_url,
        commands=ground.commands,
        texts=ground.texts,
        admits=ground.admits,
        direct_threads=own.direct == "threads",
        prompts=ground.prompts("slack"),
        thumbs=ground.settings.feedback,
        hands_over=_hands_over(ground, "slack"),
    )
    adapter = SlackAdapter(keys, clock=ground.clock, marks=ground.records("marks:slack"), options=options)
    return ListedPlatform(
        adapter, _rules(ground.settings, own), exclusive=own.app_token is not None, max_age_s=own.max_age_s
    )


def _discord(ground: AdapterGround) -> ListedPlatform | None:
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
        admits=ground.admits,
        shards=None if own.shards == "auto" else own.shards,
        hands_over=_hands_over(ground, "discord"),
    )
    marks, posts = ground.records("marks:discord"), ground.records("posts:discord")
    token = own.token.get_secret_value()
    adapter = DiscordAdapter(token, clock=ground.clock, marks=marks, posts=posts, options=options)
    return ListedPlatform(adapter, _rules(ground.settings, own), exclusive=True, max_age_s=own.max_age_s)


def _hands_over(ground: AdapterGround, platform: str) -> HandsOver:
    return handing_over(platform, load_extensions(ground.settings.extensions.modules).loaded)


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


def rules_of(settings: Settings, platform: str) -> AccessRules:
    if is_web(platform):
        team = settings.web.login == "invite"
        return AccessRules("allowlist" if team else "open", owners=frozenset(settings.web.owners), enclosed=True)
    return _rules(settings, getattr(settings, platform))


CATALOG: dict[str, PlatformKind] = {
    "telegram": PlatformKind(_telegram, "PARLEY_TELEGRAM__TOKEN"),
    "slack": PlatformKind(_slack, "PARLEY_SLACK__BOT_TOKEN and PARLEY_SLACK__APP_TOKEN"),
    "discord": PlatformKind(_discord, "PARLEY_DISCORD__TOKEN"),
}


def catalog(settings: Settings) -> dict[str, PlatformKind]:
    """Every platform but the web chat: Parley's own, then those of extensions."""
    added = load_extensions(settings.extensions.modules).platforms
    for name in added:
        if name in CATALOG:
            raise ConfigError(f"An extension adds the platform {name}, which Parley has; take the extension out.")
    return CATALOG | {
        name: PlatformKind(partial(_added, platform), platform.switch) for name, platform in added.items()
    }


def _added(platform: ExtensionPlatform, ground: AdapterGround) -> ListedPlatform | None:
    own: PlatformSettings = getattr(ground.settings, platform.name)
    adapter = platform.make(PlatformParts(own, ground.clock, ground.records, ground.commands, ground.texts))
    if adapter is None:
        return None
    if adapter.name != platform.name:
        raise ConfigError(f"The adapter of the platform {platform.name} calls itself {adapter.name}; correct one name.")
    return ListedPlatform(adapter, _rules(ground.settings, own), platform.exclusive, own.max_age_s)


def is_web(name: str) -> bool:
    return name == "web"


def listed(ground: AdapterGround, web: WebAdapter) -> Iterator[ListedPlatform]:
    """The web chat, which is always on, and every platform that the settings switch on."""
    yield ListedPlatform(web, rules_of(ground.settings, web.name), exclusive=False)
    extensions = load_extensions(ground.settings.extensions.modules).loaded
    for name, kind in catalog(ground.settings).items():
        made = kind.factory(ground)
        if made is not None:
            yield made
            continue
        for one in waiting_for(name, extensions):
            about = {"extension": one, "platform": name, "switch": kind.switch}
            _log.warning("An extension waits for a platform that is off", extra=about)
