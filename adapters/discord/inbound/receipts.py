"""Answers to commands and presses: one in time, and a second one once the command is stored, if it was promised. What
answers a command for its author alone takes the receipt's place.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from adapters.adapter import NOT_UNDERSTOOD
from adapters.capabilities import measure_utf16
from adapters.discord.api.interactions import InteractionApi
from adapters.discord.codec.addresses import channel_id_of, page_of
from adapters.discord.codec.interactions import kind_of, person_of
from adapters.discord.codec.payload import DiscordWords
from adapters.discord.limits import CAPABILITIES
from adapters.markdown.paging import split_pages
from adapters.recent import Recent
from runtime.core.address import GATEWAY, Address
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError
from runtime.core.texts import Texts

ACKNOWLEDGE_WITHIN_S: Final = 2.0
"""The time for the first answer. Discord counts a command as failed after 3 s (Receiving and Responding to
Interactions); one second is left for the way.
"""

ANSWER_WITHIN_S: Final = 14 * 60.0
"""The time for an answer in the receipt's place. Discord takes it for 15 minutes; one minute is left for the way."""
MAX_ANSWERED: Final = 1_000
"""The number of people in channels whose latest commands are remembered; others are answered for all to see."""
MAX_COMMANDS: Final = 5
"""The number of commands of one person in one channel that wait for answers."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Receipt:
    text: str | None
    interaction: Mapping[str, Any]
    heard_at_s: float
    ready: anyio.Event = field(default_factory=anyio.Event)
    given: anyio.Event = field(default_factory=anyio.Event)


class Receipts:
    """One for each command and press that was heard, until it is given."""

    def __init__(self, api: InteractionApi, texts: Texts, clock: Clock) -> None:
        self._api = api
        self._texts = texts
        self._clock = clock
        self._open: dict[str, _Receipt] = {}
        self._unanswered = Recent[tuple[str, str], deque[_Receipt]](MAX_ANSWERED)

    def heard(self, interaction: Mapping[str, Any], tasks: TaskGroup) -> None:
        """The three seconds have begun, however many events are waiting before this one. Raises as `command_of`."""
        author = (str(interaction.get("channel_id")), person_of(interaction))
        receipt = _Receipt(self._texts("sessions.taken"), interaction, self._clock.monotonic())
        self._open[str(interaction["id"])] = receipt
        if kind_of(interaction) == "command":
            waiting = self._unanswered.get(author) or deque(maxlen=MAX_COMMANDS)
            waiting.append(receipt)
            self._unanswered.keep(author, waiting)
        give = self._accept if kind_of(interaction) == "choice" else self._tell
        tasks.start_soon(self._give, give, interaction, receipt)

    async def answer(self, to: Address, person_id: str, text: str) -> bool:
        """Answer the first command of a person in a channel that has no answer yet, for this person alone. False where
        there is none, or it was given too long ago. Raises as `InteractionApi`.
        """
        waiting = self._unanswered.get((channel_id_of(to), person_id.rpartition(":")[2])) or deque()
        while waiting:
            receipt = waiting.popleft()
            if self._clock.monotonic() - receipt.heard_at_s < ANSWER_WITHIN_S:
                break
        else:
            return False
        with anyio.move_on_after(ACKNOWLEDGE_WITHIN_S):
            await receipt.given.wait()
        if not receipt.given.is_set():
            return False
        pages = split_pages(text, CAPABILITIES.max_text, measure_utf16)
        first, *others = [page_of(page, GATEWAY, named=False) for page in pages]
        await self._api.keep_promise(receipt.interaction, first)
        for other in others:
            await self._api.add(receipt.interaction, other)
        return True

    def safe(self, interaction: Mapping[str, Any], text: str | None = None) -> None:
        """Tell the person that the command is stored, or has failed."""
        receipt = self._open.pop(str(interaction["id"]), None)
        if receipt is not None:
            receipt.text = text or receipt.text
            receipt.ready.set()

    def drop(self, interaction: Mapping[str, Any]) -> None:
        """Say nothing: Discord tells the person that the application did not respond."""
        receipt = self._open.pop(str(interaction["id"]), None)
        if receipt is not None:
            receipt.text = None
            receipt.ready.set()

    async def _give(self, give: Any, interaction: Mapping[str, Any], receipt: _Receipt) -> None:
        try:
            await give(interaction, receipt)
            receipt.given.set()
        except (AdapterError, *NOT_UNDERSTOOD) as error:
            _log.warning("A command or a press has no receipt", extra={"error": repr(error)})

    async def _tell(self, interaction: Mapping[str, Any], receipt: _Receipt) -> None:
        """A text for this person alone; an announcement of it if the text takes longer."""
        with anyio.move_on_after(ACKNOWLEDGE_WITHIN_S):
            await receipt.ready.wait()
        promised = not receipt.ready.is_set()
        if promised:
            await self._api.promise(interaction)
            await receipt.ready.wait()
        if receipt.text is not None:
            answer = self._api.keep_promise if promised else self._api.say
            await answer(interaction, DiscordWords(receipt.text))

    async def _accept(self, interaction: Mapping[str, Any], receipt: _Receipt) -> None:
        with anyio.move_on_after(ACKNOWLEDGE_WITHIN_S):
            await receipt.ready.wait()
        await self._api.accept(interaction)
