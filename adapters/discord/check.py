"""The findings of `check`: the token, the intent, and the permissions in each server."""

from __future__ import annotations

from typing import Final

from adapters.discord.api.bot import DiscordApi, DiscordServer
from adapters.discord.api.permissions import invitation, missing
from adapters.discord.inbound.listener import INTENT_HELP
from runtime.core.errors import AuthFailed, NotDelivered, OutcomeUncertain, RateLimited

MAX_TOLD: Final = 5
"""The number of servers whose missing permissions are listed."""


async def health(api: DiscordApi) -> str:
    """One line for a person. Raises AuthFailed if something essential is missing."""
    try:
        us, reads = await api.identity()
        servers = await api.servers()
    except (OutcomeUncertain, RateLimited) as error:
        raise NotDelivered(f"{error}. So Parley cannot tell whether the token is valid") from error
    if not reads:
        raise AuthFailed(INTENT_HELP)
    lacking = [text for server in servers if (text := _lacking(server, essential=False))]
    crippled = [text for server in servers if (text := _lacking(server, essential=True))]
    link = invitation(us.application_id).link
    if crippled:
        told = "; ".join(crippled[:MAX_TOLD])
        raise AuthFailed(f"{told}. In the server's settings, Roles, give them to {us.name}, or open {link} again")
    where = f"in {len(servers)} server{'s' * (len(servers) != 1)}"
    notes = f". {'; '.join(lacking[:MAX_TOLD])}; docs/chats/discord.md says what each is for" if lacking else ""
    return f"Discord knows this bot as {us.name}, {where}{notes}. To add it to a server: {link}"


def _lacking(server: DiscordServer, *, essential: bool) -> str:
    names = [right.name for right in missing(server.permissions) if right.essential or not essential]
    return f"In {server.name} the bot lacks {', '.join(names)}" if names else ""
