"""A process that ends with the one that started it, however that ends."""

from __future__ import annotations

import os
import threading

_ORPHANED = 1


def end_with_standard_input() -> None:
    """End this process at once, like a crash, when its standard input ends: a pipe that its parent holds open.

    A thread reads it, so that also a busy or hanging loop ends.
    """
    threading.Thread(target=_until_the_end, name="parent", daemon=True).start()


def _until_the_end() -> None:
    try:
        while os.read(0, 4096):
            pass
    finally:
        os._exit(_ORPHANED)
