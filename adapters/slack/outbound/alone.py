"""Messages in a channel that only one person sees (chat.postEphemeral), and only until the app is loaded anew."""

from __future__ import annotations

from adapters.slack.api.workspaces import Workspaces
from adapters.slack.codec.addresses import blocks_of, channel_of, is_private, team_of
from adapters.slack.outbound.threads import SlackThreads
from runtime.core.address import Address


class SlackAlone:
    """The methods of the ports in `adapters.adapter` that tell one person something."""

    def __init__(self, workspaces: Workspaces, threads: SlackThreads) -> None:
        self._workspaces = workspaces
        self._threads = threads

    async def tell_alone(self, to: Address, person_id: str, text: str, /) -> None:
        """Tell in the thread. Below a message without replies Slack shows no such message (chat.postEphemeral,
        thread_ts), so it is in the channel then.
        """
        workspace = await self._workspaces.of(team_of(to))
        thread = to.thread if to.key in self._threads.spoken_in else None
        await workspace.api.tell_alone(channel_of(to), thread, person_id.rpartition(":")[2], blocks_of(text, None))

    async def private_with(self, to: Address, person_id: str, /) -> Address:
        """The direct conversation with a person. Raises MissingScope for an app without `im:write`."""
        workspace = await self._workspaces.of(team_of(to))
        channel = await workspace.api.direct_channel(person_id.rpartition(":")[2])
        return Address(to.platform, f"{team_of(to)}:{channel}")

    async def answer_alone(self, to: Address, person_id: str, text: str, /) -> bool:
        """As `tell_alone`, in channels; in a direct conversation nobody else reads along."""
        if is_private(to):
            return False
        await self.tell_alone(to, person_id, text)
        return True
