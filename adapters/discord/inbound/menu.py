"""People's choices from the menu: commands, sessions in separate threads, answers to questions, suggestions.

Each command and press is answered in time, and once more when it is stored, if that was promised. What answers a
command for its author alone takes the receipt's place.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct, field
from msgspec.structs import replace

from adapters.adapter import NOT_UNDERSTOOD, Admits, Inbound
from adapters.capabilities import measure_utf16
from adapters.discord.api.bot import DiscordApi
from adapters.discord.api.webhooks import InteractionApi
from adapters.discord.codec.addresses import DiscordBot, address_of, channel_id_of, page_of
from adapters.discord.codec.interactions import (
    asked_of,
    choice_of,
    command_of,
    in_thread,
    kind_of,
    options_of,
    person_of,
    suggestions,
    thread_name,
)
from adapters.discord.codec.payload import DiscordWords
from adapters.discord.limits import CAPABILITIES
from adapters.markdown.paging import split_pages
from adapters.recent import RecentValues
from adapters.retrying import MayFail
from runtime.core.address import GATEWAY, Address
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, StorageUnavailable
from runtime.core.markup import MarkdownPart
from runtime.core.texts import Texts

MAX_BEGUN: Final = 1000
"""The number of remembered sessions, so that a repeated event opens no second thread."""
_PASSED_OVER: Final = "An interaction is not understood and is ignored"
_log = logging.getLogger(__name__)

ACKNOWLEDGE_WITHIN_S: Final = 2.0
"""Discord counts a command as failed after 3 s (Receiving and Responding to Interactions); one is left for the way."""
ANSWER_WITHIN_S: Final = 14 * 60.0
"""The time for an answer in the receipt's place. Discord takes it for 15 minutes; one minute is left for the way."""
MAX_ANSWERED: Final = 1_000
"""The number of people in channels whose latest commands are remembered; others are answered for all to see."""
MAX_COMMANDS: Final = 5


class _Receipt(Struct):
    interaction: Mapping[str, Any]
    heard_at_s: float
    text: str | None = None
    ready: anyio.Event = field(default_factory=anyio.Event)
    given: anyio.Event = field(default_factory=anyio.Event)


class InteractionReceipts:
    """One for each command and press that was heard, until it is given."""

    def __init__(self, api: InteractionApi, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._open: dict[str, _Receipt] = {}
        self._unanswered = RecentValues[tuple[str, str], deque[_Receipt]](MAX_ANSWERED)

    def heard(self, interaction: Mapping[str, Any], tasks: TaskGroup) -> None:
        """The three seconds have begun, however many events are waiting before this one. Raises as `command_of`."""
        author = (str(interaction.get("channel_id")), person_of(interaction))
        receipt = _Receipt(interaction, self._clock.monotonic())
        self._open[str(interaction["id"])] = receipt
        if kind_of(interaction) == "command":
            waiting = self._unanswered.get(author) or deque(maxlen=MAX_COMMANDS)
            waiting.append(receipt)
            self._unanswered.keep(author, waiting)
        give = self._accept if kind_of(interaction) == "choice" else self._tell
        tasks.start_soon(self._give, give, interaction, receipt)

    async def answer(self, to: Address, person_id: str, text: str) -> bool:
        """Answer a person's first open command in a channel; False for none, or too late. As `InteractionApi`."""
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

    def settle(self, interaction: Mapping[str, Any], text: str | None) -> None:
        """Tell the person that the command is stored, or has failed; with None Discord says that nobody responded."""
        receipt = self._open.pop(str(interaction["id"]), None)
        if receipt is not None:
            receipt.text = text
            receipt.ready.set()

    async def _give(self, give: Any, interaction: Mapping[str, Any], receipt: _Receipt) -> None:
        with MayFail(_log.warning, "A command or a press has no receipt", (AdapterError, *NOT_UNDERSTOOD)):
            await give(interaction, receipt)
            receipt.given.set()

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


class InteractionMenu(Struct, frozen=True):
    """Interactions from Discord: each is answered in time, and those for sessions become items."""

    api: DiscordApi
    answers: InteractionApi
    receipts: InteractionReceipts
    programs: Sequence[str]
    texts: Texts
    admits: Admits
    _begun: RecentValues[str, str] = field(default_factory=lambda: RecentValues[str, str](MAX_BEGUN))

    def heard(self, interaction: Mapping[str, Any], tasks: TaskGroup) -> None:
        """An interaction has just arrived; never waits. Raises nothing for one of any form."""
        match kind_of(interaction):
            case "command" | "start" | "choice":
                with MayFail(_log.warning, _PASSED_OVER, NOT_UNDERSTOOD):
                    self.receipts.heard(interaction, tasks)
            case "invite":
                tasks.start_soon(self._answered, self._invite, interaction)
            case "suggestion":
                tasks.start_soon(self._answered, self._suggest, interaction)
            case None:
                pass

    async def item(self, interaction: Mapping[str, Any], us: DiscordBot) -> Inbound | None:
        """A person's event; None for an interaction that is answered here. Call `safe` for each item."""
        with MayFail(_log.warning, _PASSED_OVER, NOT_UNDERSTOOD):
            match kind_of(interaction):
                case "command":
                    return await self._admitted(interaction, command_of(interaction, us))
                case "choice":
                    return choice_of(interaction, us)
                case "start":
                    return await self._start(interaction, command_of(interaction, us))
                case _:
                    return None
        self.receipts.settle(interaction, None)
        return None

    async def safe(self, interaction: Mapping[str, Any]) -> None:
        text = self.texts("sessions.taken")
        if kind_of(interaction) == "start":
            thread = self._begun.get(str(interaction["id"]))
            place = MarkdownPart(f"<#{thread}>")
            text = self.texts("sessions.here") if thread is None else self.texts("sessions.there", place=place)
        self.receipts.settle(interaction, text)

    async def _admitted(self, interaction: Mapping[str, Any], item: Inbound) -> Inbound | None:
        """The command; None if the person may not give it and is told so. In private the gateway tells them."""
        refusal = None if item.private else await self.admits(item)
        if refusal is None:
            return item
        self.receipts.settle(interaction, refusal)
        return None

    async def _start(self, interaction: Mapping[str, Any], wanted: Inbound) -> Inbound | None:
        item = await self._admitted(interaction, wanted)
        if item is None or item.private or in_thread(interaction):
            return item
        number, channel = str(interaction["id"]), channel_id_of(item.address)
        thread = self._begun.get(number)
        if thread is None:
            try:
                thread = await self._opened(interaction, channel, item)
            except AdapterError as error:
                self.receipts.settle(interaction, self.texts("sessions.no_thread", reason=error))
                return None
            self._begun.keep(number, thread)
        return replace(item, address=address_of(thread, private=False, parent=channel))

    async def _opened(self, interaction: Mapping[str, Any], channel: str, item: Inbound) -> str:
        thread = await self.api.open_thread(channel, thread_name(interaction) or self.texts("sessions.unnamed"))
        with MayFail(_log.info, "Somebody is not in the thread of their session"):
            await self.api.join(thread, item.person_id.rpartition(":")[2])
        return thread

    async def _invite(self, interaction: Mapping[str, Any]) -> None:
        person = str(options_of(interaction)["person"])
        refusal = await self.admits(asked_of(interaction))
        if refusal is not None:
            await self.answers.say(interaction, DiscordWords(refusal))
            return
        if not in_thread(interaction):
            await self.answers.say(interaction, DiscordWords(self.texts("sessions.not_here")))
            return
        try:
            await self.api.join(str(interaction["channel_id"]), person)
        except AdapterError as error:
            await self.answers.say(interaction, DiscordWords(self.texts("sessions.not_invited", reason=error)))
            return
        said = self.texts("sessions.invited", person=MarkdownPart(f"<@{person}>"))
        await self.answers.say(interaction, DiscordWords(said, frozenset({person})), openly=True)

    async def _suggest(self, interaction: Mapping[str, Any]) -> None:
        refusal = await self.admits(asked_of(interaction))
        found = suggestions(interaction, self.programs) if refusal is None else []
        await self.answers.suggest(interaction, found)

    async def _answered(self, answer: Any, interaction: Mapping[str, Any]) -> None:
        failures = (AdapterError, StorageUnavailable, *NOT_UNDERSTOOD)
        with MayFail(_log.warning, "A command has no answer", failures):
            await answer(interaction)
