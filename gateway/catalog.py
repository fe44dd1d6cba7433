"""The platforms: a name, and how its adapter is made from the settings, one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from adapters.adapter import Adapter
from adapters.web.adapter import WebAdapter
from gateway.access import AccessRules
from gateway.settings import Settings
from runtime.core.clock import Clock


@dataclass(frozen=True, slots=True)
class Listed:
    """A platform that the settings switch on. `exclusive`: one node at a time may listen to it."""

    adapter: Adapter
    rules: AccessRules
    exclusive: bool


Factory = Callable[[Settings, Clock], Listed | None]


def _telegram(settings: Settings, clock: Clock) -> Listed | None:
    own = settings.telegram
    if own.token is None:
        return None
    from adapters.telegram.adapter import TelegramAdapter, TelegramOptions

    adapter = TelegramAdapter(own.token.get_secret_value(), clock=clock, options=TelegramOptions(base_url=own.base_url))
    rules = AccessRules(own.access, frozenset(own.allow_people), frozenset(own.allow_chats))
    return Listed(adapter, rules, exclusive=True)


CATALOG: dict[str, Factory] = {
    "telegram": _telegram,
}


def listed(settings: Settings, web: WebAdapter, clock: Clock) -> Iterator[Listed]:
    """The web chat, which is always there, and every platform that the settings switch on."""
    yield Listed(web, AccessRules("open"), exclusive=False)
    for factory in CATALOG.values():
        made = factory(settings, clock)
        if made is not None:
            yield made
