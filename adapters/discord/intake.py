"""Out of what Discord says, what people do: events, history where events are missing, commands and their receipts."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

import anyio
from anyio.abc import TaskGroup

from adapters.adapter import Inbound
from adapters.discord.bot_api import BotApi
from adapters.discord.catch_up import CatchUp
from adapters.discord.codec import BotIdentity, Place, command_of, inbound_of, is_command, mark_of, parent_of
from adapters.discord.listener import LOST, Heard, Listener, Session
from adapters.discord.patience import until_answered
from adapters.records import Records
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, AuthFailed, NotDelivered

ACKNOWLEDGE_WITHIN_S: Final = 2.0
"""Discord takes a command for failed after 3 s (Receiving and Responding to Interactions); one is left for the way."""
COMMAND_TAKEN: Final = "Understood."

_NOT_UNDERSTOOD: Final = (KeyError, TypeError, ValueError, AttributeError)
_log = logging.getLogger(__name__)
_History: TypeAlias = list[dict[str, Any]]


class Intake:
    """One connection's items. `speaks_in` tells the threads in which we spoke in this process."""

    def __init__(
        self, api: BotApi, session: Session, clock: Clock, marks: Records, speaks_in: Callable[[str], bool]
    ) -> None:
        self._api = api
        self._clock = clock
        self._speaks_in = speaks_in
        self._listener = Listener(session, clock, self._heard)
        self._catch_up = CatchUp(api, marks, self._history)
        self._receipts: dict[str, anyio.Event] = {}
        self._tasks: TaskGroup | None = None

    async def run(self) -> None:
        """Listen, and acknowledge commands, until cancelled."""
        async with anyio.create_task_group() as self._tasks:
            await self._listener.run()

    async def items(self, us: BotIdentity) -> AsyncGenerator[Inbound, None]:
        """What people do. An item is marked as taken, or a command acknowledged, when the next one is asked for."""
        await self._catch_up.load()
        while True:
            name, data = await self._listener.next()
            if name == "INTERACTION_CREATE":
                command = self._command(data, us)
                if command is not None:
                    yield command
                    self._receipts.pop(data["id"]).set()
                continue
            async for message in self._messages(name, data):
                item = await self._item(message, us)
                if item is not None:
                    yield item
                    await self._catch_up.taken(mark_of(item.address), message["id"])

    async def _messages(self, name: str, data: Mapping[str, Any]) -> AsyncIterator[Mapping[str, Any]]:
        """The message of an event, or those that were missed before it."""
        if name == "MESSAGE_CREATE":
            yield data
        if name in ("READY", LOST[0]):
            self._catch_up.begin([str(guild["id"]) for guild in data.get("guilds", ())])
            async for message in self._catch_up.private():
                yield message
        if name in ("GUILD_CREATE", LOST[0]):
            guild = data.get("id")
            async for message in self._catch_up.public(self._listener.talked_in(guild), guild):
                yield message

    def _command(self, interaction: Mapping[str, Any], us: BotIdentity) -> Inbound | None:
        try:
            return command_of(interaction, us)
        except _NOT_UNDERSTOOD as error:
            _tell_passed_over(error)
            return None

    async def _item(self, message: Mapping[str, Any], us: BotIdentity) -> Inbound | None:
        try:
            return inbound_of(message, us, await self._place(message) if "guild_id" in message else Place())
        except _NOT_UNDERSTOOD as error:
            _tell_passed_over(error)
            return None

    async def _place(self, message: Mapping[str, Any]) -> Place:
        place = self._listener.place(message)
        if place is None:
            channel_id = str(message["channel_id"])
            try:
                channel = await self._asked(lambda: self._api.channel(channel_id))
            except AdapterError as error:
                _log.warning("A channel is not known", extra={"channel": channel_id, "error": str(error)})
                channel = {}
            place = Place(parent=parent_of(channel), ours="member" in channel)
        return replace(place, ours=place.ours or self._speaks_in(str(message["channel_id"])))

    async def _history(self, call: Callable[[], Awaitable[_History]]) -> _History:
        return await until_answered(self._clock, call, but=(AuthFailed, NotDelivered))

    async def _asked(self, call: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        return await until_answered(self._clock, call, but=(AuthFailed, NotDelivered))

    def _heard(self, heard: Heard) -> None:
        """Commands have three seconds, however many messages wait before them."""
        name, data = heard
        if name == "INTERACTION_CREATE" and is_command(data) and self._tasks is not None:
            taken = self._receipts[data["id"]] = anyio.Event()
            self._tasks.start_soon(self._acknowledge, data, taken)

    async def _acknowledge(self, interaction: Mapping[str, Any], taken: anyio.Event) -> None:
        """A receipt for its person alone, once the command is safe; in good time a word that one will follow."""
        try:
            with anyio.move_on_after(ACKNOWLEDGE_WITHIN_S):
                await taken.wait()
            if taken.is_set():
                await self._api.respond(interaction, COMMAND_TAKEN)
                return
            await self._api.respond(interaction, None)
            await taken.wait()
            await self._api.complete(interaction, COMMAND_TAKEN)
        except AdapterError as error:
            _log.warning("A command has no receipt", extra={"error": str(error)})


def _tell_passed_over(error: Exception) -> None:
    _log.warning("An event of Discord's is not understood and is passed over", extra={"error": repr(error)})
