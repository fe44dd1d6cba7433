"""Answers of one message and of two, on a platform with limits in virtual time: the longest gap, and the last word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.live_text.policies import OURS, POLICIES
from benchmarks.live_text.profiles import PROFILES
from benchmarks.live_text.simulation import Run, Setting, Speech, simulate
from benchmarks.live_text.traces import paragraphs, steady_chars
from benchmarks.table import Row

MESSAGES: Mapping[int, int] = {3000: 1, 6000: 2}
"""How many messages answers of so many characters take."""
HELD: Mapping[str, tuple[float, float]] = {"Telegram private": (1.1, 0.4), "Telegram group": (3.1, 0.5)}
"""Seconds that the longest gap and the tail are held to while every call is answered."""
HELD_LOSSY = (4.0, 2.0)
"""The same where calls are done and answered by 502."""
LOST = 0.15
VERY_LONG = 12_000
"""Characters of an answer of a minute: more than a group's 20 calls a minute can keep at one pace."""
SEEDS = range(20)


def long_answer(profile: str, chars: int, *, lost: float = 0.0, seed: int = 0, policy: str = OURS) -> Run:
    """Show one: calls take 60 ms, a message holds 3,900 characters, the text has sentences and paragraphs."""
    setting = Setting(
        PROFILES[profile], POLICIES[policy], lost_answers=lost, seed=seed, max_text=3900, latency_s=(0.06, 0.06)
    )
    return simulate([Speech(0.0, steady_chars(chars), paragraphs(chars))], setting)


def rows() -> Iterator[Row]:
    """The longest gap and tail of each, of all seeds where calls are lost."""
    for profile, (gap_s, tail_s) in HELD.items():
        for chars in MESSAGES:
            name = f"{profile}, {chars} characters"
            yield from _rows(name, [long_answer(profile, chars)], chars, (gap_s, tail_s))
            lossy = [long_answer(profile, chars, lost=LOST, seed=seed) for seed in SEEDS]
            yield from _rows(f"{name}, {LOST:.0%} of calls 502", lossy, chars, HELD_LOSSY)


def very_long_rows() -> Iterator[Row]:
    """An answer of a minute in a group, beside one call every three seconds from the beginning on."""
    ours, even = (long_answer("Telegram group", VERY_LONG, policy=policy).texts[0] for policy in (OURS, "lead+trail"))
    name = f"Telegram group, {VERY_LONG} characters"
    yield Row(f"{name}: longest gap", ours.gap_s, "s", even.gap_s, "a call every 3 s")
    yield Row(f"{name}: tail", ours.tail_s, "s", even.tail_s, "a call every 3 s")


def _rows(name: str, runs: Sequence[Run], chars: int, held: tuple[float, float]) -> Iterator[Row]:
    failed = sum(run.failed or run.messages != MESSAGES[chars] for run in runs)
    title = name + (f" (FAIL: {failed})" if failed else "")
    yield Row(f"{title}: longest gap", max(run.texts[0].gap_s for run in runs), "s", target=f"<= {held[0]:g}")
    yield Row(f"{title}: longest tail", max(run.texts[0].tail_s for run in runs), "s", target=f"< {held[1]:g}")
