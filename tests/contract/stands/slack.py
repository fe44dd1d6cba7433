"""Slack: the fake server behind the real client library."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from adapters.adapter import Act, Adapter, Call, Inbound
from adapters.slack.adapter import SlackAdapter, SlackOptions
from runtime.core.address import Address
from runtime.core.clock import Clock
from tests.contract.slack.speaking import ADA, US, new_adapter, thread
from tests.contract.stands.stand import COMMANDS, Seen, Trouble, Who
from tests.fakes.slack.people import FRIEND, PERSON
from tests.fakes.slack.platform import SlackPlatform
from tests.fakes.slack.server import serving

_PEOPLE: dict[Who, str] = {"ada": PERSON, "bob": FRIEND}
_METHODS: dict[Call, str] = {"send": "chat.postMessage", "edit": "chat.update", "delete": "chat.delete"}


class SlackStand:
    """See `Stand`. A mention in the channel begins a thread: what is said there comes from the thread. Direct messages
    are one conversation; tests of Slack alone have those that begin threads."""

    private = ADA
    group = US
    tells: frozenset[Act] = frozenset({"message", "edit", "deletion", "reaction", "choice"})
    needs_mention = True
    troubles: frozenset[Trouble] = frozenset({"flood", "answer_lost", "never_arrived", "forbidden"})

    def __init__(self, platform: SlackPlatform, options: SlackOptions, adapter: SlackAdapter) -> None:
        self.platform = platform
        self._options = options
        self._adapter = adapter

    @property
    def adapter(self) -> SlackAdapter:
        return self._adapter

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[AsyncIterator[Inbound]]:
        async with self._adapter.connect() as inbound:
            yield inbound

    @asynccontextmanager
    async def another(self, clock: Clock | None = None, /) -> AsyncGenerator[Adapter]:
        async with aclosing(new_adapter(self._options, clock=clock)) as adapter:
            yield adapter

    async def topic(self) -> Address | None:
        return thread(self.platform.mention("let us talk"))

    async def open_place(self) -> Address | None:
        return self.group

    @property
    def threadless(self) -> Address | None:
        return None

    async def say(self, text: str, to: Address, *, by: Who = "ada", addressed: bool = True) -> str:
        channel = to.conversation.partition(":")[2]
        speak = self.platform.mention if addressed and to == US else self.platform.say
        return speak(text, channel=channel, person=_PEOPLE[by], thread=to.thread)

    async def say_again(self) -> None:
        self.platform.events.again(self.platform.events.pending[-1])

    async def reply(self, text: str, to: Address, message: str) -> str:
        return self.platform.say(text, channel=to.conversation.partition(":")[2], thread=message)

    async def rewrite(self, to: Address, message: str, text: str) -> None:
        self.platform.rewrite(message, text, channel=to.conversation.partition(":")[2])

    async def withdraw(self, to: Address, message: str) -> None:
        self.platform.remove(message, channel=to.conversation.partition(":")[2])

    async def press(self, to: Address, message: str, choice: str) -> None:
        channel = to.conversation.partition(":")[2]
        [posted] = [each for each in self.platform.messages(channel) if each.ts == message]
        self.platform.press(choice, posted, channel=channel)

    async def mark(self, to: Address, message: str) -> None:
        self.platform.react("thumbsup", message, channel=to.conversation.partition(":")[2])

    async def marks_on(self, to: Address, message: str) -> int:
        [said] = [
            each
            for each in self.platform.conversations.open(to.conversation.partition(":")[2]).messages
            if each.ts == message
        ]
        return len(said.reactions)

    async def remove(self, to: Address, message: str) -> None:
        self.platform.remove(message, channel=to.conversation.partition(":")[2])

    async def seen(self, to: Address) -> list[Seen]:
        return [
            Seen(
                each.ts,
                each.username or "",
                each.shown,
                tuple(each.history),
                bool(each.pings),
                tuple(e["text"]["text"] for b in each.blocks if b["type"] == "actions" for e in b["elements"]),
                () if each.file is None else (self.platform.files.files[each.file].name,),
            )
            for each in self.platform.messages(to.conversation.partition(":")[2])
            if each.thread_ts == to.thread
        ]

    def trouble(self, call: Call, to: Address, trouble: Trouble) -> None:
        method = _METHODS[call]
        match trouble:
            case "flood":
                self.platform.fail(method, "flood")
            case "answer_lost":
                self.platform.fail(method, "bad_gateway", applied=True)
            case "never_arrived":
                self.platform.fail(method, "drop")
            case "forbidden":
                self.platform.fail(method, "refuse", error="restricted_action")

    async def cut(self) -> None:
        self.platform.drop()


@asynccontextmanager
async def stand() -> AsyncGenerator[SlackStand]:
    platform = SlackPlatform()
    async with serving(platform) as address:
        commands = {name: name for name in COMMANDS}
        options = SlackOptions(base_url=f"{address}/api/", commands=commands, direct_threads=False)
        async with aclosing(new_adapter(options)) as adapter:
            yield SlackStand(platform, options, adapter)
