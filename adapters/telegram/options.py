"""The options of the adapter for Telegram."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from adapters.adapter import HandsOver, to_nobody
from adapters.telegram.codec.markup import Rich


class TelegramOptions(Struct, frozen=True):
    """The options of the Telegram adapter.

    `base_url` is a Bot API server's address up to and including `/bot`; None is Telegram's own. `show_names` says where
    an agent's name stands above its text, unless it has a bot of its own: `agents` are their tokens by name. With
    "groups" it stands in private chats, too, unless the agent is the first one, for which the bot stands. A poll
    waits at most `poll_timeout_s` for a message; with `webhook_url` there are no polls, updates come there.
    `listen` says whether people in a topic where we speak are always speaking to us. `commands` stand in the menu with
    their descriptions, `translations` are descriptions by language; of `alone` in groups only the bot hears.
    `chats` are groups where we should be. `keep_hours` is how long what is heard in groups is kept; a check says so.
    `hands_over` gets the main bot, as python-telegram-bot's `Bot`.
    """

    base_url: str | None = None
    show_names: Literal["groups", "always", "never"] = "groups"
    agents: Mapping[str, str] = field(default_factory=dict)
    webhook_url: str | None = None
    listen: Literal["sessions", "mentions"] = "sessions"
    drafts: bool = False
    rich: Rich = "auto"
    commands: Mapping[str, str] = field(default_factory=dict)
    translations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    alone: Collection[str] = ()
    chats: Sequence[str] = ()
    keep_hours: float = 0
    call_timeout_s: float = 10.0
    poll_timeout_s: float = 25.0
    hands_over: HandsOver = to_nobody
