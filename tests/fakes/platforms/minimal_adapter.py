"""The least that an adapter is. docs/connecting/adding-a-platform.md explains it."""

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from adapters.adapter import Inbound
from adapters.capabilities import Budget, Capabilities
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock
from runtime.core.errors import AdapterError, NotDelivered, OutcomeUncertain, RateLimited
from tests.fakes.platforms.minimal_platform import BOT, MAX_TEXT, MinimalPlatform, NoAnswer, Refused, Said

PLATFORM = "minimal"
RECONNECT_S = 0.01
_NAME_MAX = 100
_ROOM = Budget(rate_per_s=20.0, burst=40)
_CAPABILITIES = Capabilities(
    max_text=MAX_TEXT - _NAME_MAX,
    text_unit="codepoints",
    edits=False,
    threads=False,
    idempotent_send=False,
    typing_lasts_s=None,
    private_budget=_ROOM,
    group_budget=_ROOM,
    total_budget=Budget(rate_per_s=100.0, burst=200),
    source="tests/fakes/platforms/minimal_platform.py; 100 characters are left for the speaker's name",
)
_PERSON = re.compile(r"\[@([^\]\n]*)\]\(person:([^)\s]*)\)")
_COMMAND = re.compile(r"/([a-z]+)(?:\s+|$)(.*)", re.DOTALL)


class MinimalAdapter:
    """Rooms that begin with `~` have one person. In the others a message is for the bot that begins with its name."""

    def __init__(self, platform: MinimalPlatform, clock: Clock) -> None:
        self._platform = platform
        self._clock = clock

    @property
    def name(self) -> str:
        return PLATFORM

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Inbound]]:
        async with aclosing(self._said()) as items:
            yield items

    def budget(self, to: Address, /) -> tuple[str, Budget]:
        return f"{PLATFORM}:{to.conversation}", _ROOM

    async def check(self) -> str:
        return f"{PLATFORM}: no token needed"

    async def send(
        self, to: Address, text: str, /, *, speaker: Speaker, nonce: str, final: bool, reply_to: str | None = None
    ) -> str:
        people = [target.removeprefix(f"{PLATFORM}:") for _, target in _PERSON.findall(text)]
        shown = _PERSON.sub(r"@\1", text)
        if speaker.id and not _is_private(to.conversation):
            shown = f"{speaker.name[: _NAME_MAX - 2]}: {shown}"
        try:
            return await self._platform.post(to.conversation, shown, people)
        except (Refused, NoAnswer) as error:
            raise translated(error, to) from error

    async def _said(self) -> AsyncGenerator[Inbound]:
        """A message counts as heard when the consumer asks for the next one."""
        while True:
            try:
                said = await self._platform.after(self._platform.heard_up_to)
            except NoAnswer:
                await self._clock.sleep_until(self._clock.monotonic() + RECONNECT_S)
                continue
            yield inbound_of(said)
            self._platform.heard_up_to = max(self._platform.heard_up_to, said.number)


def inbound_of(said: Said) -> Inbound:
    """What a person wrote in our words."""
    private = _is_private(said.room)
    named = said.text.startswith(f"{BOT}: ")
    text = said.text.removeprefix(f"{BOT}: ")
    command = _COMMAND.fullmatch(text)
    return Inbound(
        Address(PLATFORM, said.room),
        event_id=said.id,
        person_id=f"{PLATFORM}:{said.person}",
        person_name=said.name,
        text=command[2] if command else text,
        sent_at=said.at,
        private=private,
        addressed=private or named or command is not None,
        command=command[1] if command else None,
        message_id=said.id,
    )


def translated(error: Refused | NoAnswer, to: Address) -> AdapterError:
    """The platform's errors as ours: here, and nowhere else."""
    if isinstance(error, NoAnswer):
        return OutcomeUncertain(f"{PLATFORM}: no answer to a post in {to.conversation}; it may be there")
    if error.reason == "flood":
        return RateLimited(f"{PLATFORM}: too many posts in {to.conversation}", retry_after_s=error.wait_s)
    return NotDelivered(f"{PLATFORM}: {to.conversation} takes no post: {error.reason}")


def _is_private(room: str) -> bool:
    return room.startswith("~")
