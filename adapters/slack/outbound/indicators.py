"""The indicators beside messages: status and stop button."""

from __future__ import annotations

import logging
from typing import Final

from adapters.recent import RecentValues
from adapters.slack.api.workspaces import SlackWorkspace
from adapters.slack.codec.addresses import AuthorFace, channel_of
from adapters.slack.outbound.threads import REMEMBERED
from runtime.core.address import Address, Speaker
from runtime.core.errors import AdapterError, NotDelivered
from runtime.core.texts import Texts

MAX_STATUS: Final = 100
_log = logging.getLogger(__name__)


class SlackIndicators:
    """Indicators, remembered so that they can be removed."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._statuses = RecentValues[str, bool](REMEMBERED)
        self._working = RecentValues[str, bool](REMEMBERED)
        self._at_work: dict[str, set[str]] = {}

    def posted(self, to: Address) -> None:
        """A message of ours appeared, which removes the status at Slack."""
        self._statuses.forget(to.key)

    async def status(self, to: Address, doing: str | None, face: AuthorFace | None, workspace: SlackWorkspace) -> None:
        """Show the current activity below a thread."""
        if to.thread is None:
            return
        self._statuses.keep(to.key, True)
        await workspace.api.set_status(
            channel_of(to), to.thread, (doing or self._texts("doing.thinks"))[:MAX_STATUS], face
        )
        await self.work(to, workspace)

    async def work(self, to: Address, workspace: SlackWorkspace) -> None:
        """A speaker works on an answer in a thread: show a stop button if the app is an agent. Never raises."""
        if workspace.takes("sessions") and to.key not in self._working:
            await self._session(to, "processing", workspace)
            self._working.keep(to.key, True)

    async def clear(self, to: Address, workspace: SlackWorkspace) -> None:
        """Remove the status. Slack does that with our next message, but not with the edit that finishes one. Never
        raises.
        """
        if to.thread is None or to.key not in self._statuses:
            return
        try:
            await workspace.api.set_status(channel_of(to), to.thread, "", None)
            self._statuses.forget(to.key)
        except AdapterError as error:
            _log.info("A status stays until Slack takes it away", extra={"error": str(error)})

    def works(self, to: Address, speaker: Speaker, active: bool) -> None:
        """A speaker works on an answer, or has stopped."""
        speakers = self._at_work.setdefault(to.key, set())
        if active:
            speakers.add(speaker.id)
        else:
            speakers.discard(speaker.id)
        if not speakers:
            del self._at_work[to.key]

    def works_on(self, to: Address) -> bool:
        """Whether a message that is complete is not the last one, and the stop button is to stay."""
        return to.key in self._working and to.key in self._at_work

    async def rest(self, to: Address, workspace: SlackWorkspace) -> None:
        """An answer is complete: remove the stop button, unless somebody goes on working. Never raises."""
        if to.key in self._working and to.key not in self._at_work:
            self._working.forget(to.key)
            await self._session(to, "active", workspace)

    async def _session(self, to: Address, status: str, workspace: SlackWorkspace) -> None:
        if to.thread is None or not workspace.takes("sessions"):
            return
        try:
            await workspace.api.set_session(channel_of(to), to.thread, status)
        except NotDelivered as error:
            workspace.refuses("sessions")
            _log.info("There is no stop button on Slack", extra={"error": str(error)})
        except AdapterError as error:
            _log.info("An agent's status on Slack is late", extra={"error": str(error)})
