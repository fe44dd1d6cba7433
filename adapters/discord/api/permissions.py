"""The permissions that the bot needs in a server, and the link that asks for exactly these. Bits: Discord's
documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_ADMINISTRATOR = 1 << 3

THREAD_BITS = (1 << 35) | (1 << 38)
"""The permission to open a thread and speak in it."""


@dataclass(frozen=True, slots=True)
class Permission:
    """One permission: its name in Discord, its purpose, and whether nothing works without it."""

    name: str
    bit: int
    purpose: str
    essential: bool = False


@dataclass(frozen=True, slots=True)
class BotInvitation:
    """A link that lets the bot into a server, and the permissions it asks for."""

    link: str
    permissions: Sequence[Permission]


PERMISSIONS: Sequence[Permission] = (
    Permission("View Channels", 1 << 10, "to see the channel at all", essential=True),
    Permission("Send Messages", 1 << 11, "to answer in channels", essential=True),
    Permission("Send Messages in Threads", 1 << 38, "to answer in threads and forum posts", essential=True),
    Permission("Create Public Threads", 1 << 35, "to open a thread for a session"),
    Permission("Read Message History", 1 << 16, "to read what was written meanwhile, and to answer by a reply"),
    Permission("Manage Webhooks", 1 << 29, "to let each agent speak under its own name and picture"),
    Permission("Add Reactions", 1 << 6, "to mark a message that waits for its answer"),
    Permission("Attach Files", 1 << 15, "to send files"),
)


def invitation(application_id: str) -> BotInvitation:
    """The link by which a server's manager adds the bot, with its permissions and commands."""
    permissions = sum(permission.bit for permission in PERMISSIONS)
    scopes = "bot+applications.commands"
    link = f"https://discord.com/oauth2/authorize?client_id={application_id}&scope={scopes}&permissions={permissions}"
    return BotInvitation(link, PERMISSIONS)


def missing(granted: int) -> list[Permission]:
    if granted & _ADMINISTRATOR:
        return []
    return [permission for permission in PERMISSIONS if not granted & permission.bit]
