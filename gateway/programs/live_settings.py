"""The settings that a reload can change while the gateway runs, and those that need a restart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from typing import Any

from gateway.settings.tree import Settings, keys

_LIVE = re.compile(
    r"route|access\.(groups|pairing_minutes|open_requests)|limits\.(person|conversation)_\w+"
    r"|\w+\.(access|owners|allow_people|allow_groups|allow_chats|allow_spaces|visitors)"
)
"""The keys that can change: who may do what, where which program serves, and how much people may use."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The keys that differ: those `in_force` after a reload, and those that `wait` for a restart."""

    in_force: tuple[str, ...] = ()
    wait: tuple[str, ...] = ()


def changes(old: Settings, new: Settings) -> Changes:
    """What differs between the settings at work and those that were read again."""
    differ = [key for key in keys(type(old)) if _value(old, key) != _value(new, key)]
    return Changes(
        tuple(key for key in differ if _LIVE.fullmatch(key)),
        tuple(key for key in differ if not _LIVE.fullmatch(key)),
    )


def _value(settings: Settings, key: str) -> Any:
    return reduce(getattr, key.split("."), settings)
