"""The objects of the platforms' libraries, as extensions get them."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Sequence
from typing import Any, Final

import anyio

from adapters.natives import HandsOver
from gateway.extensions.extension import Extension

EXTENDS_WITHIN_S: Final = 30.0
"""The time limit for a function of an extension. The platform is not heard before."""

_log = logging.getLogger("adapters.extensions")


def handing_over(platform: str, extensions: Sequence[Extension]) -> HandsOver:
    """What gives a platform's object to the extensions, one after the other. One that fails is passed over."""

    async def hand_over(native: Any) -> None:
        for one in extensions:
            for function in one.native_callbacks.get(platform, ()):
                try:
                    with anyio.fail_after(EXTENDS_WITHIN_S):
                        made = function(native)
                        if inspect.isawaitable(made):
                            await made
                except Exception as error:  # noqa: BLE001 - an extension may raise anything, and the platform goes on
                    about = {"extension": one.name, "platform": platform, "error": repr(error)}
                    _log.error("An extension could not be added to a platform", extra=about, exc_info=error)

    return hand_over


def waiting_for(platform: str, extensions: Sequence[Extension]) -> list[str]:
    """The names of the extensions that want a platform's object."""
    return [one.name for one in extensions if platform in one.native_callbacks]
