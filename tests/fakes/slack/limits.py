"""Rate limits of the Web API, as a model: Slack publishes tiers ("50+ a minute"), not its algorithm."""

import math
from collections import deque
from collections.abc import Mapping

from runtime.core.clock import Clock
from tests.fakes.slack.refusal import too_many_requests

TIERS: Mapping[int, int] = {1: 1, 2: 20, 3: 50, 4: 100}
"""Calls in any 60 s, of one method in one workspace."""
TIER_OF: Mapping[str, int] = {
    "apps.connections.open": 1,
    "agents.sessions.setStatus": 3,
    "assistant.threads.setStatus": 4,
    "chat.appendStream": 4,
    "chat.delete": 3,
    "chat.startStream": 2,
    "chat.stopStream": 2,
    "chat.update": 3,
    "conversations.history": 3,
    "conversations.replies": 3,
    "files.completeUploadExternal": 4,
    "files.getUploadURLExternal": 4,
    "files.info": 4,
    "reactions.add": 3,
    "reactions.get": 3,
    "reactions.remove": 2,
    "users.conversations": 3,
    "users.info": 4,
}
OUTSIDE_MARKETPLACE: Mapping[str, int] = {"conversations.history": 1, "conversations.replies": 1}
"""The tiers for apps that are sold outside of Slack's Marketplace, with pages of 15 (changelog, 2025-05-29)."""
POSTS_BURST = 3
"""Posts in one channel at once, before it is one a second."""
WINDOW_S = 60.0


class RateLimits:
    """The limits of one app in one workspace. `take` raises a refusal with the whole seconds to wait."""

    def __init__(self, clock: Clock, *, marketplace: bool = True) -> None:
        self._clock = clock
        self._tiers = TIER_OF if marketplace else {**TIER_OF, **OUTSIDE_MARKETPLACE}
        self._calls: dict[str, deque[float]] = {}
        self._posts: dict[str, tuple[float, float]] = {}

    def take(self, method: str) -> None:
        """Count a call of the method."""
        tier = self._tiers.get(method)
        if tier is None:
            return
        now_s = self._clock.monotonic()
        calls = self._calls.setdefault(method, deque())
        while calls and calls[0] <= now_s - WINDOW_S:
            calls.popleft()
        if len(calls) >= TIERS[tier]:
            raise too_many_requests(math.ceil(calls[0] + WINDOW_S - now_s))
        calls.append(now_s)

    def take_post(self, channel: str) -> None:
        """Count a post in the channel."""
        now_s = self._clock.monotonic()
        tokens, at_s = self._posts.get(channel, (float(POSTS_BURST), now_s))
        tokens = min(float(POSTS_BURST), tokens + now_s - at_s)
        if tokens < 1 - 1e-9:
            raise too_many_requests(math.ceil(1 - tokens))
        self._posts[channel] = (tokens - 1, now_s)
