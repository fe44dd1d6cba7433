"""Lines that programs write into the log, and what an agent has itself told later: once, whatever happens meanwhile."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from runtime.core.errors import PlaybookError
from runtime.execution.calls.reminders import due_at
from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import World, live
from tests.fakes.people.talk import Model, block, talking
from tests.fakes.sleepers import Sleepers
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.crash_points import dying_at_each_point
from tests.unit.runtime.sessions.crashes.crash_sweep import Company
from tests.unit.runtime.sessions.programs import MAIN, agent, exits, llm, program, python


def talkative(code: str) -> Case:
    return Case(program(agent("Shop", MAIN, code=f"async def Main():\n{code}")), ("go", "on"), ())


async def test_a_line_names_who_wrote_it_with_values_by_name() -> None:
    case = talkative('    await Log("sold", pieces=3, to={"city": "Oslo"})\n    await Say("user", "done")')
    async with talking(case.program, Model()) as talk:
        assert (await talk.say("go"))[0] == "done"
    (event,) = talk.named("program.logged")
    assert event.data == {
        "session_id": event.data["session_id"],
        "frame": "1000.0",
        "agent_id": "1000",
        "agent": "Shop",
        "playbook": "Main",
        "program": "test",
        "line": "sold",
        "values": {"pieces": 3, "to": {"city": "Oslo"}},
    }


async def test_a_model_writes_lines_too() -> None:
    model = Model(block('await Step("Main:01:QUE")', 'await Log("asked", who="Ada")', 'await Yld("user")'))
    shop = program(agent("Main", llm("Main", "01:QUE Log who asked; YLD for user", begins=True)))
    async with talking(shop, model) as talk:
        await talk.say("go")
    assert [event.data["values"] for event in talk.named("program.logged")] == [{"who": "Ada"}]
    assert '`await Log("text", name=value)`' in model.asked[0][0].content


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("Log()", "Log needs 'text'; it is called as Log(\"sold\", pieces=3)"),
        ('Log("a", "b")', 'Log takes 1 argument (text), not 2; it is called as Log("sold", pieces=3)'),
        ('Log("a", **{f"v{n}": n for n in range(51)})', "Log takes at most 50 values, not 51"),
        ('Log("a", what=object())', "a value that Log was given is not data"),
    ],
)
async def test_what_cannot_be_written_is_an_error_of_the_call(call: str, error: str) -> None:
    code = f'    try:\n        await {call}\n    except PlaybookError as error:\n        await Say("user", str(error))'
    async with talking(talkative(code).program, Model()) as talk:
        assert (await talk.say("go"))[0].startswith(error)
        assert not talk.named("program.logged")


async def test_a_line_is_never_written_twice_when_the_process_dies_at_any_point(sandbox: MontySandbox) -> None:
    case = talkative(
        """    await Log("one")
    await WaitForMessage("user")
    await Log("two", n=2)
    await Say("user", "done")
    await EndProgram()"""
    )

    async def run(*, crashes: tuple[int, ...], seed: int) -> World:
        world = World(case.people, crashes=crashes, seed=seed)
        await live(world, case.program, Company(case, random.Random(seed)), sandbox)
        return world

    def check(world: World) -> None:
        assert [shown.text for shown in world.chat] == ["done"]
        assert len(world.logged) == len(set(world.logged))
        if not world.deaths:
            assert world.logged == ["one", "two"]

    await dying_at_each_point(run, check)


async def test_what_an_agent_says_is_routed_with_its_own_words_for_whom_it_is() -> None:
    case = talkative('    await Say("Clerk", "three words here")\n    await Say("user", "done")')
    both = program(*case.program.agents, agent("Clerk", python("Idle"), code="async def Idle():\n    pass"))
    async with talking(both, Model()) as talk:
        await talk.say("go")
    routed = [event.data for event in talk.named("message.routed")]
    assert [(data["sender_id"], data["receiver_spec"], data["message_length"]) for data in routed] == [
        ("1000", "Clerk", 16),
        ("1000", "user", 4),
    ]


NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def keeper(code: str = "", when: str = "7200") -> Program:
    """Sets a reminder when it begins, then says what it is told."""
    main = f"""
async def Main():
    await Say("user", str(await Remind({when}, "water the plants")))
{code}    await Listen()

async def Listen():
    for message in await WaitForMessage("user"):
        await Say("user", message["type"] + ": " + message["text"])
    return Again()
"""
    return program(agent("Keeper", MAIN, python("Listen"), code=main))


async def test_a_reminder_comes_as_a_message_to_the_agent_itself(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(keeper(), sandbox)
    await sleepers.post("1", "start")
    assert await sleepers.live(lambda: len(sleepers.chat) == 2, pass_s=600)
    assert sleepers.chat == ["2026-01-01T02:00:00+00:00", "reminder: water the plants"]
    await sleepers.live(lambda: not sleepers.asleep)


async def test_it_outlasts_what_people_say_and_restarts_meanwhile(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(keeper(), sandbox)
    await sleepers.post("1", "start")
    await sleepers.live(lambda: sleepers.asleep)
    await sleepers.clock.advance(3600)
    await sleepers.post("2", "hello")
    await sleepers.live(lambda: len(sleepers.chat) == 2 and sleepers.asleep)
    assert await sleepers.live(lambda: len(sleepers.chat) == 3, pass_s=600)
    assert sleepers.chat[1:] == ["direct: hello", "reminder: water the plants"]


async def test_reminders_come_in_the_order_of_their_times(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(
        keeper('    await Remind(60, "first")\n    await Remind("2026-01-01T05:00", "last")\n'), sandbox
    )
    await sleepers.post("1", "start")
    assert await sleepers.live(lambda: len(sleepers.chat) == 4, pass_s=600)
    assert sleepers.chat[1:] == ["reminder: first", "reminder: water the plants", "reminder: last"]


async def test_a_reminder_that_is_due_meanwhile_waits_until_the_agent_listens(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(keeper("    await Sleep(10800)\n"), sandbox)
    await sleepers.post("1", "start")
    assert await sleepers.live(lambda: len(sleepers.chat) == 2, pass_s=600)
    assert sleepers.clock.now() >= datetime(2026, 1, 1, 3, tzinfo=UTC)


async def test_a_question_is_not_answered_by_a_reminder(sandbox: MontySandbox) -> None:
    sleepers = Sleepers(keeper('    await Say("user", await Ask("Ship it?", ["Yes", "No"]))\n', "60"), sandbox)
    await sleepers.post("1", "start")
    await sleepers.live(lambda: sleepers.asleep)
    await sleepers.clock.advance(600)
    await sleepers.live(lambda: not sleepers.asleep)
    await sleepers.post("2", "yes")
    assert await sleepers.live(lambda: len(sleepers.chat) == 4)
    assert sleepers.chat[2:] == ["Yes", "reminder: water the plants"]


async def test_a_model_is_told_of_its_reminder() -> None:
    playbook = llm("Main", "01:QUE Remind yourself", "02:YLD for user", "03:QUE Say", "04:YLD for exit", begins=True)
    model = Model(
        block(
            'await Step("Main:01:QUE")',
            'await Remind(30, "call Bob")',
            'await Step("Main:02:YLD")',
            'await Yld("user")',
        ),
        block(
            'await Step("Main:03:QUE")',
            'await Say("user", "Call Bob!")',
            *exits("Main:04:YLD"),
        ),
    )
    async with talking(program(agent("Keeper", playbook)), model) as talk:
        talk.post("hi")
        await talk.until(lambda: talk.chat == ["Call Bob!"])
    assert "Reminder that you set: call Bob" in model.told(1)


async def test_the_reminder_comes_once_whenever_the_process_dies(sandbox: MontySandbox) -> None:
    point, deaths = 0, 0
    while point <= deaths:
        point += 1
        sleepers = Sleepers(keeper(), sandbox, World((), crashes=[point]))
        await _to_the_end(sleepers)
        deaths += sleepers.world.deaths
        assert sleepers.chat.count("reminder: water the plants") == 1, f"killed at point {point}: {sleepers.chat}"
    assert deaths > 20


async def _to_the_end(sleepers: Sleepers) -> None:
    await sleepers.post("1", "start")
    while not await sleepers.live(lambda: "reminder: water the plants" in sleepers.chat, pass_s=600):
        pass
    while not await sleepers.live(lambda: True):
        pass


@pytest.mark.parametrize(
    ("when", "due"),
    [
        (90, NOW + timedelta(seconds=90)),
        ("1.5", NOW + timedelta(seconds=1.5)),
        ("2026-11-22T09:00", datetime(2026, 11, 22, 9, tzinfo=UTC)),
        ("2026-11-22T09:00:00+02:00", datetime(2026, 11, 22, 7, tzinfo=UTC)),
        ("2020-01-01", datetime(2020, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_time_is_seconds_from_now_or_a_date(when: object, due: datetime) -> None:
    assert due_at(when, NOW) == due


@pytest.mark.parametrize("when", [True, -1, 1e12, "nan", "tomorrow", None, "9999-01-01"])
def test_what_is_no_time_is_refused(when: object) -> None:
    with pytest.raises(PlaybookError):
        due_at(when, NOW)
