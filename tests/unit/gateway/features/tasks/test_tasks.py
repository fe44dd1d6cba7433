"""Tasks that agents order: begun at once, answered once, and ended by limits, by their orderer and with it."""

import json

import pytest
from msgspec.structs import replace

from runtime.core.address import Address
from runtime.core.ids import AgentId, SessionId
from runtime.language.program import Program
from runtime.stores.inbox import TASK, InboxEntry
from runtime.stores.orders import TaskLimits, TaskOrder
from runtime.stores.sessions import Lease
from runtime.tape.snapshot import snapshot_of, state_from
from runtime.tape.state.session import SessionState
from runtime.tape.state.tasks import OrderState, TaskState
from runtime.tape.tape import tape_owner
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Talk, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python

RESEARCHER = """
async def Study(topic):
    return "all about " + topic

async def Fail():
    raise ValueError("no library")

async def Wait():
    await Sleep(300)
    return "rested"

async def Speak():
    await Say("user", "a word from the task")

async def Deeper(n):
    if n == 0:
        return "the bottom"
    return await Result(await Spawn("Researcher", "Deeper", [n - 1]))

async def Stop():
    await EndProgram()

async def Hidden():
    return 1
"""


def ordering(code: str) -> Program:
    public = [python(name, public=True) for name in ("Fail", "Wait", "Speak", "Stop")]
    studies = python("Study", "topic", public=True), python("Deeper", "n", public=True)
    researcher = agent("Researcher", *studies, *public, python("Hidden"), code=RESEARCHER)
    main = agent("Main", MAIN, code=f"async def Main():\n{code}")
    return program(main, researcher)


async def said(code: str, limits: TaskLimits | None = None) -> list[str]:
    """What people see of a program that ends by itself."""
    async with talking(ordering(code), Model(), tasks=limits or TaskLimits(), after="hi") as talk:
        return talk.chat


async def test_tasks_work_at_once_and_each_result_is_had_by_name() -> None:
    code = """
    names = [await Spawn("Researcher", "Study", {"topic": topic}) for topic in ("tides", "moons", "ships")]
    await Say("user", ", ".join(names))
    await Say("user", "; ".join([await Result(name) for name in reversed(names)]))
"""
    assert await said(code) == ["task 1, task 2, task 3", "all about ships; all about moons; all about tides"]


async def test_a_result_is_the_same_when_it_is_asked_for_again() -> None:
    code = """
    name = await Spawn("Researcher", "Study", ["tides"])
    await Say("user", f"{await Result(name)}, {await Result(1)}")
"""
    assert await said(code) == ["all about tides, all about tides"]


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ('"Researcher", "Fail"', "no library"),
        ('"Researcher", "Study", {"about": 1}', "task 1 (Researcher.Study) was rejected: Study "),
        ('"Researcher", "Wait", within_s=60', "task 1 (Researcher.Wait) failed: it ran out of time"),
        ('"Researcher", "Study"', "task 1 (Researcher.Study) was rejected: Study "),
        ('"Researcher", "Hidden"', "Hidden of Researcher is not public, so other agents cannot order it"),
        ('"Researcher", "Sing"', "Researcher has no playbook 'Sing'"),
        ('"Nobody", "Sing"', "there is no agent class 'Nobody'"),
    ],
)
async def test_a_task_without_a_result_says_why(order: str, why: str) -> None:
    code = f"""
    try:
        await Result(await Spawn({order}))
    except Exception as error:
        await Say("user", str(error))
"""
    (seen,) = await said(code)
    assert seen.startswith(why)


async def test_a_wait_for_a_result_ends_with_its_time_and_the_task_goes_on() -> None:
    code = """
    name = await Spawn("Researcher", "Wait")
    await Say("user", f"{await Result(name, 5)}, then {await Result(name)}")
"""
    assert await said(code) == ["None, then rested"]


async def test_a_task_that_is_cancelled_has_no_result_and_is_told_of_by_nobody() -> None:
    code = """
    name = await Spawn("Researcher", "Wait")
    await Say("user", str(await Cancel(name)))
    try:
        await Result(name)
    except Exception as error:
        await Say("user", f"{error}, {await Cancel(name)}")
"""
    assert await said(code) == ["True", "task 1 (Researcher.Wait) was cancelled, False"]


async def test_what_is_over_a_limit_has_failed_with_the_limit_named() -> None:
    code = """
    names = [await Spawn("Researcher", "Wait") for _ in range(3)]
    await Say("user", str([task["status"] for task in await Tasks()][2]))
    try:
        await Result(names[2])
    except Exception as error:
        await Say("user", str(error))
    try:
        await Result(await Spawn("Researcher", "Deeper", [3]))
    except Exception as error:
        await Say("user", str(error))
"""
    few = await said(code.replace("Deeper", "Study"), TaskLimits(at_once=2))
    assert few[:2] == [
        "failed",
        "task 3 (Researcher.Wait) failed: 2 tasks are already running, the limit of one orderer",
    ]
    deep = await said(code, TaskLimits(depth=3, at_once=8))
    assert "it would be a task 4 deep; the limit is 3" in deep[-1]


async def test_a_task_that_ends_its_program_is_completed() -> None:
    code = """
    await Say("user", str(await Result(await Spawn("Researcher", "Stop"))))
"""
    assert await said(code) == ["None"]


async def test_what_a_task_says_is_seen_where_its_orderer_is() -> None:
    async with talking(ordering('    await Result(await Spawn("Researcher", "Speak"))\n'), Model(), after="hi") as talk:
        (shown,) = talk.world.chat
        assert shown.text == "a word from the task"
        assert shown.spec is not None
        assert shown.spec.address.key == "test:1"
        assert shown.spec.home is not None
        assert shown.spec.home.platform == "task"


async def test_a_result_nobody_waits_for_comes_as_one_message_with_its_range() -> None:
    code = """
    await Spawn("Researcher", "Study", ["tides"])
    await Spawn("Researcher", "Study", ["moons"], deliver="nobody")
    for message in await WaitForMessage("*"):
        await Say("user", message["text"])
    await Say("user", str(await WaitForMessage("*", 60)))
"""
    async with talking(ordering(code), Model(), after="hi") as talk:
        task = next(fact.data["task"] for fact in talk.world.facts if fact.kind == "spawn")
        (over,) = [f.data for f in talk.world.facts if f.kind == "task_over" and f.data["task"] == 1]
        first, last = over["first"], over["last"]
        text = "Task 1, Researcher.Study, is completed. Its result: all about tides"
        assert talk.chat == [f"{text} (facts {first} to {last} of session {task})", "None"]
        child = {fact.seq: fact.kind for fact in talk.world.facts if tape_owner(fact.tape) == task}
    assert child[first] == "order"
    assert "order_over" in [child[seq] for seq in range(first, last + 1)]


ENDING = """
    await Spawn("Researcher", "Wait", keep={keep})
    await WaitForMessage("user")
    await EndProgram()
"""


def how(talk: Talk) -> list[object]:
    return [fact.data["status"] for fact in talk.world.facts if fact.kind == "order_over"]


def test_an_order_of_an_earlier_version_is_read_without_the_isolation_that_it_asked_for() -> None:
    order = TaskOrder(1, SessionId("s"), "A", "Do", {}, 9.0, 1, ["web", "a", None], ["web", "a", None], owner="ada")
    assert TaskOrder.read(json.dumps({**json.loads(str(order)), "isolation": "process"})) == order


async def test_tasks_end_with_who_ordered_them() -> None:
    async with talking(ordering(ENDING.format(keep=False)), Model()) as talk:
        talk.post("hi")
        await talk.until(lambda: any(fact.kind == "task_posted" for fact in talk.world.facts))
        talk.post("end")
        await talk.until(lambda: bool(how(talk)))
        assert how(talk) == ["canceled"]


async def test_a_task_that_is_kept_outlives_its_orderer_and_people_are_told() -> None:
    async with talking(ordering(ENDING.format(keep=True)), Model()) as talk:
        talk.post("hi")
        await talk.until(lambda: any(fact.kind == "task_posted" for fact in talk.world.facts))
        talk.post("end")
        await talk.until(lambda: bool(talk.chat))
        assert how(talk) == ["completed"]
        assert talk.chat == ["✅ A background task is done: “rested”"]


async def test_a_stop_ends_the_tasks_of_the_conversation() -> None:
    code = '    await Spawn("Researcher", "Wait")\n    await WaitForMessage("user")\n'
    async with talking(ordering(code), Model()) as talk:
        talk.post("hi")
        await talk.until(lambda: any(fact.kind == "task_posted" for fact in talk.world.facts))
        await talk.say("", kind="stop")
        assert how(talk) == ["canceled"]


LISTENING = """
    while True:
        for message in await WaitForMessage("user"):
            if message["text"] == "order":
                await Spawn("Researcher", "Wait", deliver="nobody")
            elif message["text"] == "look":
                await Say("user", str([(task["task"], task["status"]) for task in await Tasks()]))
            else:
                await Say("user", "heard")
"""


async def test_an_undo_ends_the_tasks_that_were_ordered_in_what_it_undoes() -> None:
    async with talking(ordering(LISTENING), Model(), after=("hi", "one")) as talk:
        talk.post("order")
        await talk.until(lambda: any(fact.kind == "task_posted" for fact in talk.world.facts))
        await talk.say("", kind="undo")
        assert how(talk) == ["canceled"]
        assert (await talk.say("look"))[-1] == "[]"


async def test_a_task_that_ended_in_what_is_undone_is_known_to_have_ended() -> None:
    async with talking(ordering(LISTENING), Model(), after="hi") as talk:
        talk.post("order")
        await talk.until(lambda: any(fact.kind == "task_posted" for fact in talk.world.facts))
        talk.post("one")
        await talk.until(lambda: "heard" in talk.chat)
        await talk.until(lambda: any(fact.kind == "task_over" for fact in talk.world.facts))
        await talk.say("two")
        await talk.say("2", kind="undo")
        assert (await talk.say("look"))[-1] == "[('task 1', 'completed')]"


async def test_an_order_that_comes_again_is_recognised_by_the_tape() -> None:
    code = '    await Say("user", await Result(await Spawn("Researcher", "Study", ["tides"])))\n'
    kept: list[InboxEntry] = []
    world = World(())
    async with talking(ordering(code), Model(), world=world) as talk:
        hand_over = world.hand_over

        def keep(entry: InboxEntry) -> None:
            kept.append(entry)
            hand_over(entry)

        world.hand_over = keep
        await talk.say("hi")
        before = len(world.facts)
        (order,) = [entry for entry in kept if entry.event.kind == TASK]
        again = InboxEntry(0, str(world.taken_in + 1), replace(order.event, id="the inbox has forgotten the first"))
        world.take_in(again)
        talk.registry.dispatch(again, Lease(0, 1))
        await world.idle.wait()
        assert again in world.dismissed
        assert len(world.facts) == before


async def test_a_fork_does_not_wait_for_the_tasks_of_what_it_copies() -> None:
    async with talking(ordering(LISTENING), Model(), after="hi") as talk:
        talk.post("order")
        await talk.until(lambda: any(fact.kind == "task_posted" for fact in talk.world.facts))
        talk.post("one")
        await talk.until(lambda: "heard" in talk.chat)
        talk.post("", kind="fork_wanted")
        await talk.until(lambda: bool(talk.world.threads))
        place = next(iter(talk.world.threads))
        await talk.until(lambda: any("This continues another conversation" in text for text in talk.chat))
        talk.post("look", at=place)
        await talk.until(lambda: "[('task 1', 'canceled')]" in talk.chat)
        await talk.until(lambda: how(talk) == ["completed"])
        await talk.until(lambda: any(fact.kind == "task_over" for fact in talk.world.facts))
        (over,) = [fact for fact in talk.world.facts if fact.kind == "task_over"]
        orderer = next(tape_owner(fact.tape) for fact in talk.world.facts if fact.kind == "spawn")
        assert tape_owner(over.tape) == orderer


ASKING = """
async def Choose():
    return await Ask("Which way?", ["left", "right"])

async def Ahead():
    return await Result(await Spawn("Guide", "Choose"))
"""


@pytest.mark.parametrize(("playbook", "number"), [("Choose", 1), ("Ahead", 1)])
async def test_a_task_asks_where_its_orderer_is_and_gets_the_answer(playbook: str, number: int) -> None:
    code = f'async def Main():\n    await Say("user", "went " + await Result(await Spawn("Guide", "{playbook}")))\n'
    guide = agent("Guide", python("Choose", public=True), python("Ahead", public=True), code=ASKING)
    main = agent("Main", MAIN, code=code)
    async with talking(program(main, guide), Model()) as talk:
        talk.post("hi")
        await talk.until(lambda: bool(talk.world.offered))
        asked = talk.world.offered[-1]
        assert asked.address.key == "test:1"
        assert talk.chat == [] or talk.chat == [f"Task {number} (Guide.Choose) asks: Which way?"]
        await talk.until(lambda: bool(talk.chat))
        talk.post("right", kind="choice", choice=asked.choices[1].id)
        await talk.until(lambda: len(talk.chat) == 2)
        assert talk.chat == [f"Task {number} (Guide.Choose) asks: Which way?", "went right"]


async def test_people_see_the_tasks_and_stop_one() -> None:
    code = '    await Spawn("Researcher", "Wait")\n    await Result(await Spawn("Researcher", "Study", [1]))\n'
    async with talking(ordering(code.replace("[1]", '["tides"]') + "    await Sleep(0)\n"), Model()) as talk:
        talk.post("hi")
        await talk.until(lambda: any(fact.kind == "task_taken" for fact in talk.world.facts))
        talk.post("stop 1", kind="tasks")
        await talk.until(lambda: sum(fact.kind == "task_over" for fact in talk.world.facts) == 2)
        await talk.say("", kind="tasks")
        await talk.say("stop 1", kind="tasks")
        await talk.say("stop x", kind="tasks")
        await talk.say("begin", kind="tasks")
        assert talk.chat == [
            "Task 1 is being stopped.",
            "- Task 1: Researcher.Wait · stopped · 0 s\n- Task 2: Researcher.Study · done · 0 s · “all about tides”",
            "Task 1 has already ended.",
            "There is no task “x” here. /tasks lists them.",
            "Write /tasks, or /tasks stop and the number of a task.",
        ]


async def test_a_conversation_without_a_gateway_refuses_tasks() -> None:
    code = """
    try:
        await Spawn("Researcher", "Wait")
    except Exception as error:
        await Say("user", str(error))
"""
    async with talking(ordering(code), Model(), tasks=None, after="hi") as talk:
        assert talk.chat == ["tasks need a gateway: here is one conversation alone"]


def test_what_is_known_of_tasks_is_in_snapshots() -> None:
    state = SessionState()
    home = Address("test", "1")
    task = TaskState(
        7, 12, SessionId("t"), AgentId("1000"), "Researcher", "Study", {"topic": "tides"}, since=1.0, due=2.0
    )
    state.ordered, state.tasks = 7, {7: task}
    state.order = OrderState(
        3, SessionId("s"), home, Address("test", "1", "t1"), 9.0, 2, 4, status="completed", value=[1]
    )
    assert state_from(snapshot_of(state)) == state


async def test_a_task_whose_playbook_is_gone_from_the_program_has_failed() -> None:
    code = """
    name = await Spawn("Researcher", "Wait")
    try:
        await Result(name)
    except Exception as error:
        await Say("user", str(error))
"""
    before = ordering(code)
    world = World(())
    async with talking(before, Model(), world=world) as talk:
        talk.post("hi")
        await talk.until(lambda: any(fact.data.get("name") == "Sleep" for fact in world.facts))
    researcher = before.agents[1]
    left = tuple(playbook for playbook in researcher.playbooks if playbook.name != "Wait")
    after = replace(before, agents=(before.agents[0], replace(researcher, playbooks=left)), digest="2")
    async with talking(after, Model(), world=world) as talk:
        await talk.until(lambda: bool(talk.chat))
        (seen,) = talk.chat
    assert seen.startswith("task 1 (Researcher.Wait) failed: ")
    assert "Wait is being executed here, and is no longer in the program" in seen
