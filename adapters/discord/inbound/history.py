"""What was said in a channel, a thread or a forum post before, asked of Discord."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from adapters.adapter import NOT_UNDERSTOOD, Inbound
from adapters.discord.api.bot import PAGE, DiscordApi
from adapters.discord.codec.addresses import channel_id_of
from adapters.discord.inbound.decode import earlier_of
from runtime.core.address import Address
from runtime.core.errors import MessageGone, NotDelivered

_STARTER: Final = 21
"""The type of the first message of a thread, which points to the message that the thread began with."""

_log = logging.getLogger(__name__)


async def earlier_in(api: DiscordApi, to: Address, before: str, at_most: int) -> Sequence[Inbound]:
    """What a thread or a forum post began with, and the latest before a message."""
    if to.thread == before:  # the thread begins with it
        return []
    channel = await api.channel(channel_id_of(to))
    found = await api.before(channel_id_of(to), before, min(PAGE, at_most))
    if to.thread is not None:
        found = await _with_starter(api, to.conversation, to.thread, found)
    space = None if channel.get("guild_id") is None else str(channel["guild_id"])
    kept = found if len(found) <= at_most else [found[0], *found[1 - at_most :]]
    return [one for message in kept for one in _understood(message, to, space)]


async def _with_starter(
    api: DiscordApi, parent: str, thread: str, found: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The messages behind the one with which the thread began: it has the thread's id, here or in the channel."""
    starters = [one for message in found if _stands_for_another(message) and (one := message.get("referenced_message"))]
    said = [message for message in found if not _stands_for_another(message)]
    if starters or any(str(message["id"]) == thread for message in said):
        return [*starters, *said]
    for channel in (thread, parent):
        try:
            return [await api.message(channel, thread), *said]
        except (MessageGone, NotDelivered):
            continue  # a thread of the channel's alone begins with nothing
    return said


def _stands_for_another(message: Mapping[str, Any]) -> bool:
    return bool(message.get("type") == _STARTER)


def _understood(message: Mapping[str, Any], to: Address, space: str | None) -> Sequence[Inbound]:
    try:
        said = earlier_of(message, to, space)
    except NOT_UNDERSTOOD as error:
        _log.info("A message of Discord's history is not understood", extra={"error": repr(error)})
        return []
    return [] if said is None else [said]
