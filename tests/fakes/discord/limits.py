"""Rate limits, as a model: Discord publishes how it tells them, not what they are. Windows are fixed, headers real.

Numbers: 5 in 5 s for posting and for editing in a channel, 5 in 2 s for a webhook and 30 in 60 s for webhooks in a
channel, 50 a second for a bot.
"""

import hashlib

from msgspec import Struct, field

_OF_OPERATION = {"send": (5, 5.0), "edit": (5, 5.0), "hook_send": (5, 2.0), "hook_edit": (5, 2.0)}
_OTHERS = (50, 1.0)
_HOOKS_OF_CHANNEL = (30, 60.0)
_WHOLE_BOT = (50, 1.0)


class Window(Struct):
    """`limit` calls in `per_s` from the first one on. Times are the clock's monotonic seconds."""

    limit: int
    per_s: float
    used: int = 0
    ends_s: float = 0.0

    def take(self, now_s: float) -> float | None:
        """None when the call may pass, else the seconds to wait."""
        if now_s >= self.ends_s:
            self.used, self.ends_s = 0, now_s + self.per_s
        if self.used >= self.limit:
            return self.ends_s - now_s
        self.used += 1
        return None


class Verdict(Struct, frozen=True):
    """What the limits say to a call: headers of any answer, and the wait where it is refused."""

    headers: dict[str, str]
    retry_after_s: float | None = None
    whole_bot: bool = False


class DiscordLimits(Struct):
    """All the windows of one bot."""

    _windows: dict[tuple[str, str], Window] = field(default_factory=dict)

    def ask(self, operation: str, major: str, channel: str | None, now_s: float) -> Verdict:
        """Count a call; `channel` is the one a webhook speaks in."""
        whole_bot = self._window("bot", "", _WHOLE_BOT).take(now_s)
        own = self._window(operation, major, _OF_OPERATION.get(operation, _OTHERS))
        waits = [whole_bot, own.take(now_s)]
        if operation == "hook_send" and channel is not None:
            waits.append(self._window("hooks", channel, _HOOKS_OF_CHANNEL).take(now_s))
        bucket = "messages" if operation in ("send", "edit") else operation  # one name, two counts: issue 8073
        headers = {
            "X-RateLimit-Limit": str(own.limit),
            "X-RateLimit-Remaining": str(own.limit - own.used),
            "X-RateLimit-Reset-After": f"{max(0.0, own.ends_s - now_s):.3f}",
            "X-RateLimit-Bucket": hashlib.blake2b(bucket.encode(), digest_size=16).hexdigest(),
        }
        refused = [wait for wait in waits if wait is not None]
        return Verdict(headers, max(refused, default=None), whole_bot is not None)

    def _window(self, kind: str, about: str, size: tuple[int, float]) -> Window:
        return self._windows.setdefault((kind, about), Window(*size))
