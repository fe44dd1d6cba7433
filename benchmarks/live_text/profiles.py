"""The limits that the simulated platforms enforce: continuous buckets, full at the start, and a pause after a flood."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from adapters.capabilities import Budget, CallWindow


class Profile(Struct, frozen=True):
    """One bucket. A refused call closes it for `penalty_s`. The optimum is planned in ticks of `tick_s`.

    `nonces`: a post that is repeated is known again; elsewhere it is looked for.
    """

    budget: Budget
    penalty_s: float
    tick_s: float
    nonces: bool = True


PROFILES: Mapping[str, Profile] = {
    "Telegram private": Profile(Budget(1.0, 3), 3.0, 0.02, nonces=False),
    "Telegram group": Profile(Budget(20 / 60, 5, window=CallWindow(20, 60.0)), 12.0, 0.06, nonces=False),
    "Slack update": Profile(Budget(50 / 60, 5), 10.0, 0.03),
    "Slack append": Profile(Budget(100 / 60, 10), 10.0, 0.03),
    "Discord": Profile(Budget(1.0, 5), 1.0, 0.02),
}
