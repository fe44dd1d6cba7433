"""The interval at which Python looks for cyclic garbage. Almost nothing here is cyclic, and what Python looks through
is every session in memory: by default a third of a busy node's processor time, with pauses of a fifth of a second.
"""

from __future__ import annotations

import gc

YOUNG, MIDDLE, OLD = 20_000, 5, 5
"""After so many new objects they are looked through; every fifth time those that survived too; and every 25th time,
after half a million objects (some 50 MB), all of them.
"""


def collect_rarely() -> None:
    """Look for garbage more rarely than Python does by itself, from the first import on: modules are none, and looking
    through them three hundred times is a tenth of a start.
    """
    gc.set_threshold(YOUNG, MIDDLE, OLD)


def keep_what_exists() -> None:
    """Never look through what exists now, such as modules and settings. Call it when everything has started."""
    gc.freeze()
