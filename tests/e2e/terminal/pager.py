"""An extension for the tests beside it: somebody who can be told something."""

from __future__ import annotations

from parley.ext import Extension, Message

extension = Extension("pager", api=1)


@extension.participant("Pager")
async def page(_message: Message) -> None:
    """Take it, and do nothing."""
