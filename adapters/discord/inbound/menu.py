"""People's choices from the menu: commands, sessions in separate threads, answers to questions, suggestions."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from anyio.abc import TaskGroup

from adapters.adapter import NOT_UNDERSTOOD, Admits, Inbound
from adapters.discord.api.bot import DiscordApi
from adapters.discord.api.interactions import InteractionApi
from adapters.discord.codec.addresses import DiscordBot, address_of, channel_id_of
from adapters.discord.codec.interactions import (
    asked_of,
    choice_of,
    command_of,
    in_thread,
    kind_of,
    options_of,
    suggestions,
    thread_name,
)
from adapters.discord.codec.payload import DiscordWords
from adapters.discord.inbound.receipts import Receipts
from adapters.recent import Recent
from runtime.core.errors import AdapterError, StorageUnavailable
from runtime.core.texts import Texts

MAX_BEGUN: Final = 1000
"""The number of remembered sessions, so that a repeated event opens no second thread."""

_log = logging.getLogger(__name__)


class Menu:
    """Interactions from Discord: each is answered in time, and those for sessions become items."""

    def __init__(
        self,
        api: DiscordApi,
        answers: InteractionApi,
        receipts: Receipts,
        programs: Sequence[str],
        texts: Texts,
        admits: Admits,
    ) -> None:
        self._api = api
        self._answers = answers
        self._programs = programs
        self._texts = texts
        self._admits = admits
        self._receipts = receipts
        self._begun = Recent[str, str](MAX_BEGUN)

    def heard(self, interaction: Mapping[str, Any], tasks: TaskGroup) -> None:
        """An interaction has just arrived; never waits. Raises nothing for one of any form."""
        match kind_of(interaction):
            case "command" | "start" | "choice":
                try:
                    self._receipts.heard(interaction, tasks)
                except NOT_UNDERSTOOD as error:
                    _tell_passed_over(error)
            case "invite":
                tasks.start_soon(self._answered, self._invite, interaction)
            case "suggestion":
                tasks.start_soon(self._answered, self._suggest, interaction)
            case None:
                pass

    async def item(self, interaction: Mapping[str, Any], us: DiscordBot) -> Inbound | None:
        """A person's event; None for an interaction that is answered here. Call `safe` for each item."""
        try:
            match kind_of(interaction):
                case "command":
                    return await self._admitted(interaction, command_of(interaction, us))
                case "choice":
                    return choice_of(interaction, us)
                case "start":
                    return await self._start(interaction, command_of(interaction, us))
        except NOT_UNDERSTOOD as error:
            _tell_passed_over(error)
            self._receipts.drop(interaction)
        return None

    def safe(self, interaction: Mapping[str, Any]) -> None:
        """The item is stored."""
        text = None
        if kind_of(interaction) == "start":
            thread = self._begun.get(str(interaction["id"]))
            text = (
                self._texts("sessions.here") if thread is None else self._texts("sessions.there", place=f"<#{thread}>")
            )
        self._receipts.safe(interaction, text)

    async def _admitted(self, interaction: Mapping[str, Any], item: Inbound) -> Inbound | None:
        """The command; None if the person may not give it and is told so. In private the gateway tells them."""
        refusal = None if item.private else await self._admits(item)
        if refusal is None:
            return item
        self._receipts.safe(interaction, refusal)
        return None

    async def _start(self, interaction: Mapping[str, Any], wanted: Inbound) -> Inbound | None:
        """The start of a session, in a new thread; None if that is impossible."""
        item = await self._admitted(interaction, wanted)
        if item is None or item.private or in_thread(interaction):
            return item
        number, channel = str(interaction["id"]), channel_id_of(item.address)
        thread = self._begun.get(number)
        if thread is None:
            try:
                thread = await self._opened(interaction, channel, item)
            except AdapterError as error:
                self._receipts.safe(interaction, self._texts("sessions.no_thread", reason=error))
                return None
            self._begun.keep(number, thread)
        return replace(item, address=address_of(thread, private=False, parent=channel))

    async def _opened(self, interaction: Mapping[str, Any], channel: str, item: Inbound) -> str:
        thread = await self._api.open_thread(channel, thread_name(interaction) or self._texts("sessions.unnamed"))
        try:
            await self._api.join(thread, item.person_id.rpartition(":")[2])
        except AdapterError as error:
            _log.info("Somebody is not in the thread of their session", extra={"error": str(error)})
        return thread

    async def _invite(self, interaction: Mapping[str, Any]) -> None:
        person = str(options_of(interaction)["person"])
        refusal = await self._admits(asked_of(interaction))
        if refusal is not None:
            await self._answers.say(interaction, DiscordWords(refusal))
            return
        if not in_thread(interaction):
            await self._answers.say(interaction, DiscordWords(self._texts("sessions.not_here")))
            return
        try:
            await self._api.join(str(interaction["channel_id"]), person)
        except AdapterError as error:
            await self._answers.say(interaction, DiscordWords(self._texts("sessions.not_invited", reason=error)))
            return
        said = self._texts("sessions.invited", person=f"<@{person}>")
        await self._answers.say(interaction, DiscordWords(said, frozenset({person})), openly=True)

    async def _suggest(self, interaction: Mapping[str, Any]) -> None:
        refusal = await self._admits(asked_of(interaction))
        found = suggestions(interaction, self._programs) if refusal is None else []
        await self._answers.suggest(interaction, found)

    async def _answered(self, answer: Any, interaction: Mapping[str, Any]) -> None:
        try:
            await answer(interaction)
        except (AdapterError, StorageUnavailable, *NOT_UNDERSTOOD) as error:
            _log.warning("A command has no answer", extra={"error": repr(error)})


def _tell_passed_over(error: Exception) -> None:
    _log.warning("An interaction is not understood and is ignored", extra={"error": repr(error)})
