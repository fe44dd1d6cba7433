"""Real answers in real time: real adapters and client libraries, platforms in processes of their own."""

from __future__ import annotations

import gc
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import count
from multiprocessing import get_context

import anyio
from msgspec import Struct
from pydantic import SecretStr

from adapters.adapter import Adapter, HoldsConnections
from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pages.presenter import PagePresenter
from benchmarks.live_text.measures import NEVER_AFTER_S, Freshness, Seen, judge
from benchmarks.live_text.rough_wire import GREETING, Heard, Wire, serve
from benchmarks.live_text.traces import Trace, steady_chars, words
from gateway.catalog import CATALOG, AdapterGround
from gateway.settings.platforms import DiscordSettings, SlackSettings, TelegramSettings
from gateway.settings.tree import Settings
from runtime.channels.outbox import UNRECORDED
from runtime.core.address import GATEWAY, Address
from runtime.core.clock import SystemClock
from runtime.core.errors import OutcomeUncertain
from runtime.core.page import PageSpec
from runtime.core.texts import load_texts
from tests.fakes.discord import wire as discord_wire
from tests.fakes.observing.records import MemoryRecords
from tests.fakes.slack import platform as slack_platform
from tests.fakes.telegram import platform as telegram_platform

_READY_S = 5.0
"""Between the start of the platforms and the first text, seconds: all have started then."""


class Answer(Struct, frozen=True):
    """A text to be shown on a platform over a wire."""

    platform: str
    wire: Wire
    chunks: Trace
    end: str = "END."

    @property
    def name(self) -> str:
        wire = self.wire
        troubles = [
            f"{wire.latency_s[0] * 1000:.0f}-{wire.latency_s[1] * 1000:.0f} ms" if len(set(wire.latency_s)) > 1 else "",
            f"{wire.spikes:.0%} spikes" if wire.spikes else "",
            f"{wire.lost_answers:.0%} of calls 502" if wire.lost_answers else "",
        ]
        return ", ".join([f"{self.platform} {self.chunks[-1].length}", *filter(None, troubles)])

    @property
    def text(self) -> str:
        length = self.chunks[-1].length
        return words(length)[: length - len(self.end)] + self.end


class Shown(Struct, frozen=True):
    """What became of it. `lateness_s` is the 99 % point of how late our own process fed a chunk."""

    answer: Answer
    freshness: Freshness
    heard: Heard
    delivered: bool
    lateness_s: float

    @property
    def end_visible(self) -> bool:
        return bool(self.heard.seen) and any(self.answer.end in text for text in self.heard.seen[-1].messages)


CLEAN = Wire()
LOSES_FIRST = 9
"""With this seed the answer to the first post is lost, and so is the next one."""
LOSSY = Wire(lost_answers=0.15, seed=LOSES_FIRST)
ROUGH = Wire(latency_s=(0.06, 0.3), lost_answers=0.15, spikes=0.05, seed=LOSES_FIRST)
ANSWERS = [
    [
        Answer(f"Telegram {place}", CLEAN, steady_chars(length))
        for place in ("private", "group")
        for length in (3005, 6005)
    ],
    [
        Answer(f"Telegram {place}", LOSSY, steady_chars(length))
        for place in ("private", "group")
        for length in (3005, 6005)
    ],
    [
        Answer(platform, ROUGH, steady_chars(3005))
        for platform in ("Telegram private", "Telegram group", "Slack thread", "Discord private")
    ],
]
"""What is shown in real time, side by side what two cores can feed without being late."""


def show_everything() -> list[Shown]:
    """All of ANSWERS."""
    logging.getLogger().addHandler(logging.NullHandler())
    return [shown for together in ANSWERS for shown in anyio.run(show_all, together)]


async def show_all(answers: Sequence[Answer]) -> list[Shown]:
    """Show them side by side, each by a bot of its own on a platform of its own."""
    results: dict[int, Shown] = {}
    gc.collect()
    gc.freeze()

    async def one(number: int) -> None:
        results[number] = await _show(answers[number])

    async with anyio.create_task_group() as tasks:
        for number in range(len(answers)):
            tasks.start_soon(one, number)
    return [results[number] for number in range(len(answers))]


async def _show(answer: Answer) -> Shown:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=serve, args=(answer.platform, answer.wire, theirs), daemon=True)
    child.start()
    try:
        address, to = await anyio.to_thread.run_sync(ours.recv)
        begins_at, lateness, delivered = await _speak(answer, address, to)
        ours.send("stop")
        heard: Heard = await anyio.to_thread.run_sync(ours.recv)
    finally:
        child.terminate()
        child.join()
    seen = [Seen(state.at - begins_at, state.messages) for state in heard.seen]
    lateness.sort()
    late_s = lateness[int(0.99 * (len(lateness) - 1))]
    return Shown(answer, judge(answer.text, answer.chunks, seen), heard, delivered, late_s)


async def _speak(answer: Answer, address: str, to: Address) -> tuple[float, list[float], bool]:
    clock = SystemClock()
    lateness: list[float] = []
    delivered = False
    async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
        adapter = await stack.enter_async_context(_adapter(to.platform, address))
        presenter = PagePresenter(adapter, EditScheduler(adapter.capabilities.total_budget, clock, tasks), clock)
        await _greet(adapter, to)
        begins_at = clock.monotonic() + _READY_S
        await clock.sleep_until(begins_at)
        page = presenter.page(PageSpec("1", to, GATEWAY), UNRECORDED)
        for chunk in answer.chunks:
            await clock.sleep_until(begins_at + chunk.at)
            lateness.append(clock.monotonic() - begins_at - chunk.at)
            page.update(answer.text[: chunk.length])
        with anyio.move_on_after(NEVER_AFTER_S):
            delivered = await page.finish(answer.text)
        tasks.cancel_scope.cancel()
    return begins_at, lateness, delivered


async def _greet(adapter: Adapter, to: Address) -> None:
    """Something is said before what is measured, as in most conversations."""
    for attempt in count():
        with suppress(OutcomeUncertain):
            await adapter.send(to, GREETING, speaker=GATEWAY, nonce=f"greeting {attempt}", final=True)
            return


@asynccontextmanager
async def _adapter(platform: str, address: str) -> AsyncIterator[Adapter]:
    made = CATALOG[platform].factory(
        AdapterGround(_settings(platform, address), SystemClock(), lambda _table: MemoryRecords(), {}, load_texts("en"))
    )
    if made is None:
        raise RuntimeError(f"{platform} is switched off")
    try:
        yield made.adapter
    finally:
        if isinstance(made.adapter, HoldsConnections):
            await made.adapter.aclose()


def _settings(platform: str, address: str) -> Settings:
    if platform == "telegram":
        return Settings(telegram=TelegramSettings(token=SecretStr(telegram_platform.TOKEN), base_url=f"{address}/bot"))
    if platform == "slack":
        tokens = {"bot_token": SecretStr(slack_platform.BOT_TOKEN), "app_token": SecretStr(slack_platform.APP_TOKEN)}
        return Settings(slack=SlackSettings(**tokens, base_url=f"{address}/api/"))
    return Settings(discord=DiscordSettings(token=SecretStr(discord_wire.TOKEN), base_url=f"{address}/api/v10"))
