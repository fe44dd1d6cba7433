"""The real presenter, scheduler and mirrors in virtual time, on a platform that enforces its bucket."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio
from msgspec import Struct
from msgspec.structs import replace

from adapters.pacing.edit_scheduler import EditScheduler
from adapters.pacing.frame_policy import FramePolicy
from adapters.pages.presenter import PagePresenter
from benchmarks.live_text.measures import NEVER_AFTER_S, Freshness, Seen, judge
from benchmarks.live_text.profiles import Profile
from benchmarks.live_text.traces import Chunk, Trace, words
from benchmarks.live_text.virtual_time import LoopClock, run_virtually
from runtime.channels.outbox import UNRECORDED
from runtime.core.address import Address, Speaker
from runtime.core.page import PageSpec
from tests.fakes.platforms.bucket_platform import BucketPlatform, Faults, SearchedPlatform, make_capabilities


class Run(Struct, frozen=True):
    """What became of the texts of one run, and what it cost. `unchanged` edits are those that changed nothing."""

    texts: Sequence[Freshness]
    floods: int
    calls: int
    landings: Sequence[Chunk] = ()
    messages: int = 0
    unchanged: int = 0

    @property
    def failed(self) -> bool:
        """Whether anything was refused, lost, doubled or taken away again."""
        return bool(self.floods) or any(not text.whole or text.fell for text in self.texts)


class Speech(Struct, frozen=True):
    """A text that begins at `starts_at` in its own thread of the one conversation: numbered words, if not `said`."""

    starts_at: float
    chunks: Trace
    said: str = ""

    @property
    def text(self) -> str:
        return self.said or words(self.chunks[-1].length)


class Setting(Struct, frozen=True):
    """Where texts are shown, and what goes wrong there. `true_rate` is the platform's as a part of the configured."""

    profile: Profile
    policy: Callable[[], FramePolicy]
    lost_answers: float = 0.0
    spikes: float = 0.0
    seed: int = 0
    max_text: int = 10**6
    latency_s: tuple[float, float] = (0.06, 0.3)
    true_rate: float = 1.0


def simulate(speeches: Sequence[Speech], setting: Setting) -> Run:
    """Show some texts in one bucket."""
    texts = [speech.text for speech in speeches]
    platform = run_virtually(lambda: _play(speeches, texts, setting))
    results: list[Freshness] = []
    for number, (speech, text) in enumerate(zip(speeches, texts, strict=True)):
        results.append(judge(text, speech.chunks, _seen(platform, str(number), speech.starts_at)))
    first = [Chunk(one.at, len(one.text)) for one in platform.landings]
    return Run(results, platform.floods, platform.calls, first, len(platform.messages), platform.unchanged)


async def _play(speeches: Sequence[Speech], texts: Sequence[str], setting: Setting) -> BucketPlatform:
    clock = LoopClock()
    budget = setting.profile.budget
    kind = BucketPlatform if setting.profile.nonces else SearchedPlatform
    platform = kind(
        clock,
        replace(budget, rate_per_s=budget.rate_per_s * setting.true_rate),
        assumed=budget,
        capabilities=make_capabilities(budget, max_text=setting.max_text, idempotent_send=setting.profile.nonces),
        faults=Faults(
            penalty_s=setting.profile.penalty_s,
            lost_answers=setting.lost_answers,
            latency_s=setting.latency_s,
            spikes=setting.spikes,
        ),
        seed=setting.seed,
    )
    async with anyio.create_task_group() as tasks:
        scheduler = EditScheduler(platform.capabilities.total_budget, clock, tasks, policy=setting.policy())
        presenter = PagePresenter(platform, scheduler, clock)

        async def speak(number: int) -> None:
            speech, text = speeches[number], texts[number]
            to = Address("fake", "1", str(number))
            await clock.sleep_until(speech.starts_at)
            page = presenter.page(PageSpec(str(number), to, Speaker("1000", "Host")), UNRECORDED)
            for chunk in speech.chunks:
                await clock.sleep_until(speech.starts_at + chunk.at)
                page.update(text[: chunk.length])
            with anyio.move_on_after(NEVER_AFTER_S):
                await page.finish(text)

        async with anyio.create_task_group() as speakers:
            for number in range(len(speeches)):
                speakers.start_soon(speak, number)
        tasks.cancel_scope.cancel()
    return platform


def _seen(platform: BucketPlatform, thread: str, starts_at: float) -> list[Seen]:
    messages: dict[str, str] = {}
    seen: list[Seen] = []
    for landing in platform.landings:
        if landing.thread == thread:
            messages[landing.message] = landing.text
            seen.append(Seen(landing.at - starts_at, tuple(messages.values())))
    return seen
