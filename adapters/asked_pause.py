"""The pause that a platform asks for, or something in front of it that is not the platform."""

from __future__ import annotations

import math


def asked_pause_s(told: object, untold_s: float) -> float:
    """The pause in seconds; `untold_s` for what is no number of them, such as a date, nothing, or infinity."""
    try:
        pause_s = float(str(told))
    except ValueError:
        return untold_s
    return pause_s if math.isfinite(pause_s) and pause_s >= 0 else untold_s
