"""Notices of the storage about its state."""

from __future__ import annotations

from typing import Protocol


class OnEvent(Protocol):
    """Takes "storage.lost", "storage.back" and "storage.doubted", with flat data. Must neither raise nor block."""

    def __call__(self, name: str, /, **data: object) -> None: ...


def unheard(_name: str, /, **_data: object) -> None:
    """No listener."""
