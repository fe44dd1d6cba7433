"""What is installed besides code: files of Parley, such as the tour and the commented settings; and the extensions that
packages declare. Finding those loads none, and nothing that they may add to.
"""

from __future__ import annotations

from importlib.metadata import EntryPoints, entry_points
from pathlib import Path

GROUP = "parley.extensions"
"""The entry points of packages that extend Parley."""


def packaged(name: str) -> Path:
    """The path of `name` ("examples/tour.pb", "config/parley.toml") in the installed package, else in the checkout."""
    package = Path(__file__).parent
    installed = package / "_data" / name
    return installed if installed.exists() else package.parent / name


def installed() -> EntryPoints:
    return entry_points(group=GROUP)
