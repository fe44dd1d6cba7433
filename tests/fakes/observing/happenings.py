"""Events with any name and any data."""

from typing import Any

from runtime.events import frames, service, sessions, talk
from runtime.events.happening import Happening

KINDS = {
    kind.name: kind
    for room in (frames, service, sessions, talk)
    for kind in vars(room).values()
    if isinstance(kind, type) and issubclass(kind, Happening) and kind.name
}
"""Every kind of event, by its name."""


def happened(name: str, **data: Any) -> Happening:
    """An event of this name that says this, at the level of its kind."""
    level = KINDS[name].level if name in KINDS else "info"
    made: Happening = type("Any", (Happening,), {"name": name, "level": level, "data": lambda _: data})()
    return made
