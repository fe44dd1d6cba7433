"""All platforms, by name. Each module here has a `stand`; it is imported when its turn comes."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import cast

from tests.contract.stands.stand import Stand

STANDS = ("minimal", "web", "telegram", "slack", "discord")


def stand_of(platform: str) -> AbstractAsyncContextManager[Stand]:
    return cast("AbstractAsyncContextManager[Stand]", import_module(f"tests.contract.stands.{platform}").stand())
