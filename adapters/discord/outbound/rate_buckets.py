"""The rate buckets of a call on Discord."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from adapters.adapter import Call
from adapters.capabilities import Budget
from adapters.discord.codec.addresses import PLATFORM, channel_id_of
from adapters.discord.limits import CAPABILITIES, CHANNEL_BUDGET, HOOK_BUDGET, HOOKS_BUDGET, OTHER_BUDGET
from adapters.discord.outbound.webhooks import seat_of
from runtime.core.address import Address, Speaker

_POST: Final = "POST /channels/{channel_id}/messages"
_PATCH: Final = "PATCH /channels/{channel_id}/messages/{message_id}"
_HOOK_POST: Final = "POST /webhooks/{webhook_id}/{webhook_token}"
_HOOK_PATCH: Final = "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}"
_POSTING: Final = frozenset[Call]({"send", "upload"})
_CHANGING: Final = frozenset[Call]({"edit", "offer"})


class RateBuckets:
    """Keys and sizes. `told` gives a route's size if answers have told it; otherwise the documented one counts."""

    def __init__(self, told: Callable[[str], Budget | None], through_hooks: Callable[[Address, Speaker], bool]) -> None:
        self._told = told
        self._through_hooks = through_hooks

    def conversation(self, to: Address) -> tuple[str, Budget]:
        return f"{PLATFORM}:{channel_id_of(to)}", CAPABILITIES.group_budget

    def of(self, to: Address, call: Call, speaker: Speaker | None) -> Sequence[tuple[str, Budget]]:
        """The buckets of a call. A webhook's calls do not count as the bot's; its posts count for its channel
        as well.
        """
        if call in _POSTING | _CHANGING and speaker is not None and self._through_hooks(to, speaker):
            return self._of_hook(to, call, speaker)
        key = f"{PLATFORM}:{channel_id_of(to)}"
        total = (PLATFORM, CAPABILITIES.total_budget)
        if call in _POSTING:
            return (f"{key}:post", self._told(_POST) or CHANNEL_BUDGET), total
        if call in _CHANGING:
            return (f"{key}:edit", self._told(_PATCH) or CHANNEL_BUDGET), total
        return (f"{key}:{call}", OTHER_BUDGET), total

    def _of_hook(self, to: Address, call: Call, speaker: Speaker) -> Sequence[tuple[str, Budget]]:
        key = f"{PLATFORM}:{to.conversation}:webhook {seat_of(speaker.id)}"
        if call in _POSTING:
            own = (f"{key}:post", self._told(_HOOK_POST) or HOOK_BUDGET)
            return own, (f"{PLATFORM}:{to.conversation}:webhooks", HOOKS_BUDGET)
        return ((f"{key}:edit", self._told(_HOOK_PATCH) or HOOK_BUDGET),)
