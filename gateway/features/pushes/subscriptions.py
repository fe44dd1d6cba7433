"""Subscriptions of people: the things that they want to hear of, and their browsers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, get_args
from urllib.parse import urlsplit

from anyio.lowlevel import checkpoint
from msgspec import Struct, field
from msgspec.structs import replace

from adapters.records import ChangedTogether, readable
from runtime.core.clock import Clock
from runtime.core.json_text import plain_data

if TYPE_CHECKING:
    from gateway.features.pushes.encryption import PushKey

SUBSCRIPTIONS_TABLE = "web:pushes"
KEY = "key"
"""The name of the gateway's own key in the table. A person's id has a colon."""

Choice = Literal["all", "mentions", "nothing"]
CHOICES: tuple[Choice, ...] = get_args(Choice)

MAX_BROWSERS = 10
"""The browsers of one person; the first ones are forgotten."""

MAX_CHOICES = 500
"""The rooms for which one person can choose."""

MAX_ENDPOINT = 1_000

LISTED_S = 1.0
"""How long it is remembered what everybody wants, so that a busy chat does not read thousands of people for each
message. Changes on this node count at once, those on others by then."""

_AT_A_TIME = 500
"""The people who are read before others have a turn."""

SERVICES = ("fcm.googleapis.com", "push.services.mozilla.com", "push.apple.com", "notify.windows.com")
"""The hosts of the browsers' push services, with all below them: nothing is sent anywhere else."""


def is_service(endpoint: str) -> bool:
    """Whether an address is one of a browser's push service, over https."""
    try:
        parts = urlsplit(endpoint)
        plain = parts.scheme == "https" and parts.port in (None, 443) and parts.username is None
    except ValueError:
        return False
    host = parts.hostname or ""
    known = any(host == service or host.endswith(f".{service}") for service in SERVICES)
    return plain and known and endpoint.isascii() and endpoint.isprintable() and len(endpoint) <= MAX_ENDPOINT


class Subscription(Struct, frozen=True):
    """A browser. `device` is the log-in that it belongs to."""

    endpoint: str
    p256dh: str
    auth: str
    device: str = ""


class Wishes(Struct, frozen=True):
    """The notifications that a person wants. `choices` are by room; without one it is mentions in open rooms, all in
    others. `shows`: notifications show the text.
    """

    name: str = ""
    browsers: tuple[Subscription, ...] = ()
    choices: Mapping[str, Choice] | None = None
    shows: bool = True

    def choice(self, room: str, *, otherwise: Choice) -> Choice:
        return (self.choices or {}).get(room, otherwise)

    def text(self) -> str:
        return json.dumps(plain_data(self))


def _wishes(kept: str | None) -> Wishes:
    """What is kept of a person; nothing where that cannot be read."""
    return readable("wishes", kept, _read_wishes) or Wishes()


def _read_wishes(kept: str) -> Wishes:
    data = json.loads(kept)
    return Wishes(**{**data, "browsers": tuple(Subscription(**one) for one in data["browsers"])})


class Subscriptions(Struct, eq=False):
    """Raises StorageUnavailable. `_allowed` says which addresses are a push service's."""

    _records: ChangedTogether
    _clock: Clock
    _allowed: Callable[[str], bool] = is_service
    _listed: tuple[float, Sequence[tuple[str, Wishes]]] | None = None
    """Until when what everybody wants is remembered."""
    _changes: int = 0
    _read: dict[str, tuple[str, Wishes]] = field(default_factory=dict)
    """The text of each person that was read last, and what it says."""

    async def key(self) -> PushKey:
        """The gateway's key, made once and kept."""
        from gateway.features.pushes.encryption import PushKey

        kept = await self._records.get(KEY)
        known = readable(KEY, kept, PushKey.read)
        if known is not None:
            return known
        new = PushKey.new()
        return new if await self._records.change({KEY: (kept, new.text)}) else await self.key()

    async def subscribe(self, person_id: str, name: str, browser: Subscription) -> bool:
        """Tell a person on a browser too; False when its address is none of a push service. Raises BadSubscription."""
        from gateway.features.pushes.encryption import check_keys

        if not self._allowed(browser.endpoint):
            return False
        check_keys(browser.p256dh, browser.auth)

        def with_it(now: Wishes) -> Wishes:
            others = tuple(one for one in now.browsers if one.endpoint != browser.endpoint)
            return replace(now, name=name, browsers=(*others, browser)[-MAX_BROWSERS:])

        for other, wishes in await self.all():  # who was at this browser before is there no longer
            if other != person_id and any(one.endpoint == browser.endpoint for one in wishes.browsers):
                await self.unsubscribe(other, browser.endpoint)
        await self._change(person_id, with_it)
        return True

    async def unsubscribe(self, person_id: str, endpoint: str) -> None:

        def without_it(now: Wishes) -> Wishes:
            return replace(now, browsers=tuple(one for one in now.browsers if one.endpoint != endpoint))

        await self._change(person_id, without_it)

    async def choose(self, person_id: str, room: str, choice: Choice) -> None:

        def with_it(now: Wishes) -> Wishes:
            others = {one: chosen for one, chosen in (now.choices or {}).items() if one != room}
            return replace(now, choices=dict([*others.items(), (room, choice)][-MAX_CHOICES:]))

        await self._change(person_id, with_it)

    async def show(self, person_id: str, *, shows: bool) -> None:
        await self._change(person_id, lambda now: replace(now, shows=shows))

    async def of(self, person_id: str) -> Wishes:
        return _wishes(await self._records.get(person_id))

    async def all(self) -> Sequence[tuple[str, Wishes]]:
        """Everybody with a browser, at most `LISTED_S` old."""
        now_s = self._clock.monotonic()
        if self._listed is not None and now_s < self._listed[0]:
            return self._listed[1]
        changes, kept = self._changes, await self._records.all()
        self._read = {id_: read for id_, read in self._read.items() if id_ in kept}
        listed: list[tuple[str, Wishes]] = []
        for number, (id_, text) in enumerate(kept.items(), 1):
            if id_ != KEY and (wishes := self._wishes_of(id_, text)).browsers:
                listed.append((id_, wishes))
            if number % _AT_A_TIME == 0:
                await checkpoint()
        if changes == self._changes:
            self._listed = (now_s + LISTED_S, listed)
        return listed

    def _wishes_of(self, person_id: str, text: str) -> Wishes:
        """What a text says, by what was read before if it is the same."""
        before = self._read.get(person_id)
        if before is None or before[0] != text:
            before = self._read[person_id] = (text, _wishes(text))
        return before[1]

    async def _change(self, person_id: str, edit: Callable[[Wishes], Wishes]) -> None:
        try:
            for _ in range(20):
                kept = await self._records.get(person_id)
                before = _wishes(kept)
                wanted = edit(before)
                if wanted == before or await self._records.change({person_id: (kept, wanted.text())}):
                    return
        finally:
            self._changes += 1
            self._listed = None
