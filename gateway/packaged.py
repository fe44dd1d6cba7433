"""Files of Parley that are no code: the tour, the commented settings."""

from __future__ import annotations

from pathlib import Path


def packaged(name: str) -> Path:
    """The path of `name` ("examples/tour.pb", "config/parley.toml") in the installed package, else in the checkout."""
    package = Path(__file__).parent
    installed = package / "_data" / name
    return installed if installed.exists() else package.parent / name
