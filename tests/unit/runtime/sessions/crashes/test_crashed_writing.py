"""A text that a Python playbook writes goes on at once where it stood, whenever the process dies."""

import random

import anyio
import pytest

from runtime.execution.frames.loop import RepeatedPauses
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.rig import PLATFORMS, Rig, live
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.crash_sweep import LIMIT_S, Company
from tests.unit.runtime.sessions.programs import agent, program, python

TOLD = "".join(f"Sentence {number} of the story. " for number in range(20))
CODE = """
import asyncio

async def story():
    for number in range(20):
        yield f"Sentence {number} of the story. "
        await asyncio.sleep(0.002)

async def Main():
    await Say("user", story())
    await WaitForMessage("user")
"""
TELLER = Case(program(agent("Teller", python("Main", trigger="BGN When it begins"), code=CODE)), ("hi",), (TOLD,))


async def told(platform: str, sandbox: MontySandbox, *deaths: int) -> Rig:
    rig = Rig(list(TELLER.people), PLATFORMS[platform], dict.fromkeys(deaths, "die"))
    with anyio.fail_after(LIMIT_S):
        await live(rig, TELLER.program, Company(TELLER, random.Random(1), rig.clock), sandbox, busy="queue")
    return rig


@pytest.mark.parametrize("platform", ["edits", "streams", "drafts", "parts"])
async def test_it_is_read_once_and_its_pauses_are_made_once(
    platform: str, sandbox: MontySandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    spared: list[float] = []
    time_of = RepeatedPauses.time_of

    def counted(self: RepeatedPauses, when: float, now: float) -> float:
        ends_at = time_of(self, when, now)
        spared.extend([when - now] if ends_at < when else [])
        return ends_at

    monkeypatch.setattr(RepeatedPauses, "time_of", counted)
    calm = await told(platform, sandbox)
    assert not spared
    for point in range(1, calm.points, max(1, calm.points // 12)):
        rig = await told(platform, sandbox, point, point + 9)
        assert ["".join(text.split()) for text in rig.platform.pages] == ["".join(TOLD.split())], point
    assert spared
