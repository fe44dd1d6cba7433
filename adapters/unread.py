"""The line for a message that has content, but none that bots are given."""

from __future__ import annotations

from typing import Final

UNREAD: Final = "[a message that bots cannot read]"
GONE: Final = "[a message that is no longer there]"
"""The line for what is answered and was deleted."""
