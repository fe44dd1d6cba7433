"""Discord: the fake server behind the real client library."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from msgspec.structs import replace

from adapters.adapter import Act, Adapter, Call, Inbound
from adapters.discord.adapter import DiscordAdapter, DiscordOptions
from runtime.core.address import Address
from runtime.core.clock import Clock
from tests.contract.discord.speaking import general, listening, new_adapter, private
from tests.contract.stands.stand import Seen, Trouble, Who
from tests.fakes.discord.wire import DiscordPlatform, serving
from tests.fakes.observing.records import MemoryRecords

_OPERATIONS: dict[Call, tuple[str, str]] = {
    "send": ("send", "hook_send"),
    "edit": ("edit", "hook_edit"),
    "delete": ("delete", "hook_delete"),
}
"""By the bot itself in private, through webhooks elsewhere."""


class DiscordStand:
    """See `Stand`."""

    tells: frozenset[Act] = frozenset({"message", "edit", "deletion", "reaction", "choice"})
    needs_mention = True
    troubles: frozenset[Trouble] = frozenset({"flood", "answer_lost", "never_arrived", "forbidden"})

    def __init__(
        self, platform: DiscordPlatform, options: DiscordOptions, records: MemoryRecords, adapter: DiscordAdapter
    ) -> None:
        self.platform = platform
        self._options = options
        self._records = records
        self._adapter = adapter

    @property
    def adapter(self) -> DiscordAdapter:
        return self._adapter

    @property
    def private(self) -> Address:
        return private(self.platform)

    @property
    def group(self) -> Address:
        return general(self.platform)

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[AsyncIterator[Inbound]]:
        async with listening(self._adapter, self.platform) as inbound:
            yield inbound

    @asynccontextmanager
    async def another(self, clock: Clock | None = None, /) -> AsyncGenerator[Adapter]:
        async with aclosing(new_adapter(self._options, self._records, clock=clock)) as adapter:
            yield adapter

    async def topic(self) -> Address | None:
        return replace(self.group, thread=self.platform.world.thread("Topic", by_bot=True))

    async def open_place(self) -> Address | None:
        return self.group

    @property
    def threadless(self) -> Address | None:
        return self.private

    async def say(self, text: str, to: Address, *, by: Who = "ada", addressed: bool = True) -> str:
        world = self.platform.world
        person = {"ada": world.ada, "bob": world.bob}[by]
        mentioned = f"<@{world.bot}> {text}" if addressed and to == self.group else text
        return world.say(mentioned, _channel(to), person)

    async def say_again(self) -> None:
        self.platform.gateway.again()

    async def reply(self, text: str, to: Address, message: str) -> str:
        return self.platform.world.say(text, _channel(to), reply_to=_posted(message))

    async def rewrite(self, to: Address, message: str, text: str) -> None:
        self.platform.world.backend.edit_message(int(_channel(to)), int(message), {"content": text})

    async def withdraw(self, to: Address, message: str) -> None:
        self.platform.world.delete(_channel(to), message)

    async def press(self, to: Address, message: str, choice: str) -> None:
        self.platform.world.press(_channel(to), _posted(message), choice)

    async def mark(self, to: Address, message: str) -> None:
        world = self.platform.world
        world.people.mark(world.ada, _channel(to), _posted(message), "👍")

    async def marks_on(self, to: Address, message: str) -> int:
        said = self.platform.world.backend.get_message(int(_channel(to)), int(message))
        return len(said.reactions)

    async def remove(self, to: Address, message: str) -> None:
        self.platform.world.delete(_channel(to), _posted(message))

    async def seen(self, to: Address) -> list[Seen]:
        return [
            Seen(
                each.id, each.author, each.text, tuple(each.history), each.pings, each.choices, each.files, each.answers
            )
            for each in self.platform.world.messages(_channel(to))
        ]

    def trouble(self, call: Call, to: Address, trouble: Trouble) -> None:
        by_bot, by_hook = _OPERATIONS[call]
        operation = by_bot if to.conversation.startswith("dm:") else by_hook
        match trouble:
            case "flood":
                self.platform.fail(operation, "flood")
            case "answer_lost":
                self.platform.fail(operation, "bad_gateway", applied=True)
            case "never_arrived":
                self.platform.fail(operation, "drop")
            case "forbidden":
                self.platform.fail(operation, "refuse", status=403, code=50013)

    async def cut(self) -> None:
        await self.platform.gateway.drop()


def _channel(to: Address) -> str:
    return to.thread or to.conversation.removeprefix("dm:")


def _posted(message: str) -> str:
    """The message's id without the webhook that posted it."""
    return message.partition("@")[0]


@asynccontextmanager
async def stand() -> AsyncGenerator[DiscordStand]:
    platform, records = DiscordPlatform(), MemoryRecords()
    async with serving(platform) as address:
        options = DiscordOptions(base_url=f"{address}/api/v10")
        async with aclosing(new_adapter(options, records)) as adapter:
            yield DiscordStand(platform, options, records, adapter)
