"""Files that come with what people do: fetched and read before a session takes the event, which waits in the inbox
until then. A crash in between repeats the work, and nothing else.
"""

from __future__ import annotations

from dataclasses import asdict, replace

from gateway.features.files.calls import FileCalls
from gateway.features.files.describing import Describer
from gateway.features.files.intake import FileIntake
from gateway.models.answers import Payer
from runtime.core.files import FileAccess
from runtime.core.message import attachment_from
from runtime.sessions.features import NodePart, SessionPart, SessionParts
from runtime.stores.inbox import CLAIMED, REMARKS, SECONDS, InboxEvent


class SessionFiles(SessionPart):
    """The files of one session: those that come, those that models and programs are given, and those that are sent."""

    def __init__(self, parts: SessionParts, files: FileAccess, intake: FileIntake, describer: Describer) -> None:
        super().__init__(parts)
        self._intake = intake
        self._describer = describer
        self.contents = intake
        self.calls = (FileCalls(parts, files, describer),)

    async def prepare(self, event: InboxEvent, /) -> InboxEvent:
        """The event with its files in our store, read."""
        if not event.attachments:
            return event
        files = [attachment_from(file) for file in event.attachments]
        taken = await self._intake.take(event.address, files, event.id, person=event.person_id)
        payer, known = Payer(self._record.id, event.address, event.person_id), []
        before = {file.url: file for file in self._journal.state.files} if event.kind == "edit" else {}
        for sent, one in zip(files, taken, strict=True):
            old = before.get(one.file.url)  # brought by the message that is changed: nothing about it is new
            file = old or await self._describer.described(one.file, payer)
            told = {REMARKS: () if old else one.remarks, CLAIMED: sent.media_type, SECONDS: one.seconds}
            known.append({**asdict(file), **told})
        return replace(event, attachments=tuple(known))


class NodeFiles(NodePart):
    """The files of a process that serves conversations."""

    def __init__(self, files: FileAccess, intake: FileIntake, describer: Describer) -> None:
        self._files = files
        self._intake = intake
        self._describer = describer

    @property
    def alone(self) -> NodeFiles:
        return self

    def session(self, parts: SessionParts, /) -> SessionFiles:
        return SessionFiles(parts, self._files, self._intake, self._describer)
