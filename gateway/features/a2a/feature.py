"""What A2A adds to Parley: clients order tasks over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gateway.feature import ClientGround, Feature
from runtime.core.errors import ConfigError

if TYPE_CHECKING:
    from anyio.abc import TaskGroup
    from starlette.routing import BaseRoute


def _doors(ground: ClientGround, tasks: TaskGroup) -> Sequence[BaseRoute]:
    if not ground.settings.a2a.on:
        return ()
    try:
        from gateway.features.a2a.door import open_doors
    except ImportError as error:
        text = f'a2a.on needs the extra "a2a" ({error.name} is missing): pip install "parley-gateway[a2a]".'
        raise ConfigError(text) from error
    return open_doors(ground, tasks)


a2a = Feature("a2a", doors=_doors)
