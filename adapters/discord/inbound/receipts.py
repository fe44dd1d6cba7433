"""Answers to commands and presses: one in time, and a second one once the command is stored, if it was promised."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from adapters.discord.api.interactions import InteractionApi
from adapters.discord.codec.interactions import kind_of
from adapters.discord.codec.payload import Words
from runtime.core.errors import AdapterError
from runtime.core.texts import Texts

ACKNOWLEDGE_WITHIN_S: Final = 2.0
"""The time for the first answer. Discord counts a command as failed after 3 s (Receiving and Responding to
Interactions); one second is left for the way.
"""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Receipt:
    text: str
    ready: anyio.Event = field(default_factory=anyio.Event)


class Receipts:
    """One for each command and press that was heard, until it is given."""

    def __init__(self, api: InteractionApi, texts: Texts) -> None:
        self._api = api
        self._texts = texts
        self._open: dict[str, _Receipt] = {}

    def heard(self, interaction: Mapping[str, Any], tasks: TaskGroup) -> None:
        """The three seconds have begun, however many events are waiting before this one."""
        receipt = self._open[str(interaction["id"])] = _Receipt(self._texts("sessions.taken"))
        give = self._accept if kind_of(interaction) == "choice" else self._tell
        tasks.start_soon(self._give, give, interaction, receipt)

    def safe(self, interaction: Mapping[str, Any], text: str | None = None) -> None:
        """Tell the person that the command is stored, or has failed."""
        receipt = self._open.pop(str(interaction["id"]), None)
        if receipt is not None:
            receipt.text = text or receipt.text
            receipt.ready.set()

    async def _give(self, give: Any, interaction: Mapping[str, Any], receipt: _Receipt) -> None:
        try:
            await give(interaction, receipt)
        except AdapterError as error:
            _log.warning("A command or a press has no receipt", extra={"error": str(error)})

    async def _tell(self, interaction: Mapping[str, Any], receipt: _Receipt) -> None:
        """A text for this person alone; an announcement of it if the text takes longer."""
        with anyio.move_on_after(ACKNOWLEDGE_WITHIN_S):
            await receipt.ready.wait()
        if receipt.ready.is_set():
            await self._api.say(interaction, Words(receipt.text))
            return
        await self._api.promise(interaction)
        await receipt.ready.wait()
        await self._api.keep_promise(interaction, Words(receipt.text))

    async def _accept(self, interaction: Mapping[str, Any], receipt: _Receipt) -> None:
        with anyio.move_on_after(ACKNOWLEDGE_WITHIN_S):
            await receipt.ready.wait()
        await self._api.accept(interaction)
