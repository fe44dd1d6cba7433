"""Schedules that programs make: once over crashes, bounded, and refused with a reason."""

from gateway.features.schedules.settings import ScheduleSettings
from runtime.core.ids import ScheduleId
from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import ADDRESS, World
from tests.fakes.sleepers import Sleepers
from tests.unit.runtime.sessions.programs import DOES, MAIN, agent, program, python


def planner() -> Program:
    """Schedules what it is told, and says what rings."""
    code = f"""{DOES}
async def Do(text):
    if text == "ring":
        await Say("user", "it rings")
        return
    when, _, said = text.partition("|")
    try:
        await Say("user", await Schedule(when, said))
    except Exception as error:
        await Say("user", f"refused: {{error}}")
"""
    return program(agent("Planner", MAIN, python("Listen"), python("Do", "text"), code=code))


async def test_a_program_has_its_text_said_and_people_see_it_listed(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(planner(), sandbox)
    await sleepers.post("1", "in 20 minutes|ring")
    assert await sleepers.live(lambda: bool(sleepers.chat))
    await sleepers.post("2", "list", "schedule")
    assert await sleepers.live(lambda: "it rings" in sleepers.chat, pass_s=300)
    assert sleepers.chat[0] == "schedule 1"
    assert any("in 20 minutes · next 2026-01-01 00:20 · “ring”" in text for text in sleepers.chat)
    assert sleepers.schedules.count == 0


async def test_what_cannot_be_scheduled_is_refused_with_the_reason(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(planner(), sandbox, limits=ScheduleSettings(per_conversation=1))
    said = ("someday|x", "every hour|", "every hour ring|x", "every hour|x", "every day at 9|x")
    for number, text in enumerate(said):
        await sleepers.post(str(number), text)
    assert await sleepers.live(lambda: len([text for text in sleepers.chat if "schedule" in text.lower()]) >= 5)
    refused = [text for text in sleepers.chat if text.startswith("refused")]
    assert len(refused) == 4
    assert refused[0].startswith("refused: Schedule does not understand 'someday'")
    assert refused[1] == "refused: Schedule takes a text of 1 to 4000 characters, not of 0"
    assert refused[2].startswith("refused: Schedule does not understand 'every hour ring'")
    assert refused[3] == "refused: there are 1 schedules here, and no more are kept"
    (kept,) = await sleepers.schedules.all(ADDRESS)
    assert kept.event.author == ScheduleId("schedule:test")


async def test_crashes_anywhere_make_one_schedule(sandbox: MontySandbox) -> None:
    point, deaths = 0, 0
    while point <= deaths:
        point += 1
        sleepers = Sleepers(planner(), sandbox, World((), crashes=[point]))
        await sleepers.post("1", "every hour|x")
        while not await sleepers.live(lambda: "schedule 1" in sleepers.chat):  # noqa: B023 - called at once
            pass
        deaths += sleepers.world.deaths
        assert sleepers.schedules.count == 1, f"killed at point {point}"
    assert deaths > 8
