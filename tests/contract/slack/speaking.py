"""Messages and options for the tests of the Slack adapter."""

from __future__ import annotations

from adapters.slack.adapter import SlackAdapter, SlackKeys, SlackOptions
from runtime.core.address import Address, Speaker
from runtime.core.clock import Clock, SystemClock
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.slack.conversations import TEAM
from tests.fakes.slack.people import CHANNEL, DIRECT
from tests.fakes.slack.platform import APP_TOKEN, BOT_TOKEN

ADA = Address("slack", f"{TEAM}:{DIRECT}")
US = Address("slack", f"{TEAM}:{CHANNEL}")
HOST = Speaker("1000", "Host")
BOT = "<@U0BOT>"


def new_adapter(
    options: SlackOptions,
    *,
    bot_token: str = BOT_TOKEN,
    app_token: str = APP_TOKEN,
    clock: Clock | None = None,
    marks: MemoryRecords | None = None,
) -> SlackAdapter:
    keys = SlackKeys(bot_token=bot_token, app_token=app_token)
    return SlackAdapter(keys, clock=clock or SystemClock(), marks=marks or MemoryRecords(), options=options)


def thread(root: str) -> Address:
    """The thread under a message of the channel."""
    return Address("slack", f"{TEAM}:{CHANNEL}", root)


async def send(
    adapter: SlackAdapter, text: str, *, to: Address = ADA, speaker: Speaker = HOST, nonce: str = "page.0"
) -> str:
    return await adapter.send(to, text, speaker=speaker, nonce=nonce, final=True)


async def edit(
    adapter: SlackAdapter, message: str, text: str, *, to: Address = ADA, speaker: Speaker = HOST, final: bool = False
) -> None:
    await adapter.edit(to, message, text, speaker=speaker, nonce="page.0", final=final)
