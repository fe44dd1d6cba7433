"""The extensions that installed packages declare. Finding them loads none, and nothing that they may add to."""

from __future__ import annotations

from importlib.metadata import EntryPoints, entry_points

GROUP = "parley.extensions"
"""The entry points of packages that extend Parley."""


def installed() -> EntryPoints:
    """Those of this environment."""
    return entry_points(group=GROUP)
