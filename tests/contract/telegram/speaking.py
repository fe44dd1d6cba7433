"""Messages and options for the tests of the Telegram adapter."""

from __future__ import annotations

from collections.abc import AsyncIterator

from adapters.adapter import Inbound
from adapters.records import Records
from adapters.telegram.adapter import TelegramAdapter
from adapters.telegram.options import TelegramOptions
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock, SystemClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.telegram.platform import GROUP, PERSON, TOKEN

TABLE = "Prices:\n\n| a | b |\n|---|---|\n| 1 | 2 |"
TABLE_HTML = "<p>Prices:</p><table bordered><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
"""The same as a rich message."""
ADA = Address("telegram", str(PERSON))
US = Address("telegram", str(GROUP))
HOST = Speaker("1000", "Host")
OLD_GROUP = -500


def new_adapter(
    options: TelegramOptions, *, token: str = TOKEN, clock: Clock | None = None, records: Records | None = None
) -> TelegramAdapter:
    return TelegramAdapter(token, clock=clock or SystemClock(), records=records or MemoryRecords(), options=options)


async def ask(inbound: AsyncIterator[Inbound]) -> None:
    """Ask for the next item, which says that the one before it is durable."""
    await anext(inbound)


async def send(adapter: TelegramAdapter, text: str, *, to: Address = ADA, speaker: Speaker = HOST) -> str:
    return await adapter.send(to, text, speaker=speaker, nonce="n", final=True)


async def edit(adapter: TelegramAdapter, message: str, text: str, *, to: Address = ADA) -> None:
    await adapter.edit(to, message, text, speaker=HOST, nonce="n", final=False)
