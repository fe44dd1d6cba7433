"""What the shared suite asks of a platform's fake."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

from msgspec import Struct

from adapters.adapter import Act, Adapter, Call, Inbound
from runtime.core.address import Address
from runtime.core.clock import Clock
from runtime.core.texts import english

COMMANDS = {name: english()(f"commands.{name}.what") for name in ("start", "help", "stop", "new", "status")}
"""The commands of adapters that are tested."""

Who = Literal["ada", "bob"]
Trouble = Literal["flood", "answer_lost", "never_arrived", "forbidden"]
"""A call is refused with a pause · done but its answer is lost · lost on its way · refused for want of rights."""


class Seen(Struct, frozen=True):
    """A message of ours as people see it.

    `texts` are all the texts it had, `pings` whether it notified anybody, `choices` the labels under it, `files` the
    names of what came with it, and `answers` the message that it quotes.
    """

    id: str
    author: str
    text: str
    texts: tuple[str, ...]
    pings: bool
    choices: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    answers: str | None = None


class Stand(Protocol):
    """A platform with one bot, a conversation between Ada and the bot, and a group of both people.

    `private` is Ada's conversation. `group` is where everybody talks, `topic` a thread there in which the bot was
    addressed, None where the platform has no threads. `troubles` are those that the platform knows, `tells` what it
    tells bots of. `needs_mention`: what is said in the group is addressed only if the bot is named.
    """

    @property
    def adapter(self) -> Adapter: ...

    @property
    def private(self) -> Address: ...

    @property
    def group(self) -> Address: ...

    @property
    def troubles(self) -> frozenset[Trouble]: ...

    @property
    def tells(self) -> frozenset[Act]: ...

    @property
    def needs_mention(self) -> bool: ...

    def listening(self) -> AbstractAsyncContextManager[AsyncIterator[Inbound]]:
        """A connection that hears what is said from now on."""
        ...

    def another(self, clock: Clock | None = None, /) -> AbstractAsyncContextManager[Adapter]:
        """The same bot after a restart: a new adapter with the same records, on a machine with this clock."""
        ...

    async def topic(self) -> Address | None: ...

    async def open_place(self) -> Address | None:
        """A conversation beside which threads can be opened; None where the platform has none."""
        ...

    @property
    def threadless(self) -> Address | None:
        """A conversation beside which none can be opened, where there are such."""
        ...

    async def say(self, text: str, to: Address, *, by: Who = "ada", addressed: bool = True) -> str:
        """A person writes, with a mention of the bot where `addressed` and needed; returns the message's id."""
        ...

    async def say_again(self) -> None:
        """The platform delivers what was said last once more."""
        ...

    async def reply(self, text: str, to: Address, message: str) -> str:
        """Ada answers a message of ours."""
        ...

    async def rewrite(self, to: Address, message: str, text: str) -> None:
        """Ada changes her message."""
        ...

    async def withdraw(self, to: Address, message: str) -> None:
        """Ada takes her message back."""
        ...

    async def press(self, to: Address, message: str, choice: str) -> None:
        """Ada presses the choice of this label under a message of ours."""
        ...

    async def mark(self, to: Address, message: str) -> None:
        """Ada puts a thumb up on a message."""
        ...

    async def marks_on(self, to: Address, message: str) -> int:
        """How many marks of ours are on a person's message."""
        ...

    async def remove(self, to: Address, message: str) -> None:
        """Somebody takes away a message of ours."""
        ...

    async def seen(self, to: Address) -> list[Seen]:
        """What people see of ours in a conversation, oldest first."""
        ...

    def trouble(self, call: Call, to: Address, trouble: Trouble) -> None:
        """Let the next call of this kind in this conversation fail."""
        ...

    async def cut(self) -> None:
        """Break the connection over which we listen; it can be made again at once."""
        ...
