"""Words between tasks and those who ordered them: heard where the other waits, seen where it works, and bounded."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from gateway.clients.tasks.view import TaskView
from gateway.features.tasks.calls import MAX_HOPS, MAX_WORD_CHARS, MAX_WORDS
from gateway.features.tasks.words import TakenWords, TaskWord
from runtime.core.address import CLIENT, Address, address_data, address_of
from runtime.core.errors import InboxFull
from runtime.core.ids import SessionId
from runtime.language.program import Program
from runtime.sandbox.monty import MontySandbox
from runtime.stores.inbox import FORK_WANTED, TASK, TASK_HEARD, TASK_OVER, TASK_WORD, InboxEvent
from runtime.stores.orders import TaskLimits, TaskOrder, TaskResult
from runtime.tape.tape import tape_owner
from runtime.tape.view import TASK_MESSAGE, event_of
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Reply, Talk, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, compiled, llm, program, python

RESEARCHER = """
async def Listen():
    heard = await WaitForMessage("orderer")
    return [[message["sender"], message["name"], message["text"]] for message in heard]

async def Report():
    await Tell("orderer", "half is done")
    await Tell("Orderer", {"left": 2})
    return "done"

async def Echo():
    while True:
        for message in await WaitForMessage("orderer"):
            await Tell(message["sender"], message["text"] + "!")

async def Asks():
    await Tell("orderer", "which year?")
    (heard,) = await WaitForMessage("orderer")
    return "in " + heard["text"]

async def Late():
    await Sleep(5)
    await Tell("orderer", "late news")
    return "done"

async def Chatter():
    said = 0
    while True:
        for message in await WaitForMessage("orderer"):
            for _ in range(int(message["text"])):
                await Tell("orderer", str(said))
                said += 1

async def Pass(name):
    await Tell(name, "come")

async def Rest():
    await Sleep(300)

async def Further():
    name = await Spawn("Researcher", "Report")
    return [message["text"] for message in await WaitForMessage(name)][:1]
"""


def ordering(code: str) -> Program:
    can = [
        python(name, public=True) for name in ("Listen", "Report", "Echo", "Rest", "Further", "Asks", "Late", "Chatter")
    ]
    can.append(python("Pass", "name", public=True))
    main = agent("Main", MAIN, code=f"async def Main():\n{code}")
    return program(main, agent("Researcher", *can, code=RESEARCHER))


async def said(code: str, sandbox: MontySandbox) -> list[str]:
    """What people see of a program that tells its tasks something."""
    async with talking(ordering(code), Model(), sandbox, tasks=TaskLimits(), after="hi") as talk:
        return talk.chat


def of_kind(talk: Talk, kind: str) -> list[Any]:
    return [fact.data for fact in talk.world.facts if fact.kind == kind]


async def test_a_task_hears_its_orderer_where_it_waits(sandbox: MontySandbox) -> None:
    code = """
    name = await Spawn("Researcher", "Listen")
    await Tell(name, "the deadline moved to Friday")
    await Say("user", str(await Result(name)))
"""
    assert await said(code, sandbox) == ["[['orderer', 'Main', 'the deadline moved to Friday']]"]


@pytest.mark.parametrize("source", ["name", '"*"', '"task 1"'])
async def test_who_ordered_a_task_hears_it_in_order_and_before_its_result(source: str, sandbox: MontySandbox) -> None:
    code = f"""
    name = await Spawn("Researcher", "Report")
    heard = []
    while len(heard) < 2:
        heard += await WaitForMessage({source})
    for message in heard:
        await Say("user", f"{{message['name']}}, {{message['sender']}}: {{message['text']}}")
    await Say("user", await Result(name))
"""
    assert await said(code, sandbox) == [
        "Researcher, task 1: half is done",
        'Researcher, task 1: {"left":2}',
        "done",
    ]


async def test_a_task_of_a_task_tells_the_task_that_ordered_it_and_nobody_above(sandbox: MontySandbox) -> None:
    code = """
    await Say("user", str(await Result(await Spawn("Researcher", "Further"))))
    await Say("user", str(await WaitForMessage("*", 5)))
"""
    assert await said(code, sandbox) == ["['half is done']", "None"]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ('"task 1", "more"', "task 1 (Researcher.Report) has ended, and hears no more"),
        ('"Researcher.Report", "more"', "task 1 (Researcher.Report) has ended, and hears no more"),
        ('"task 9", "more"', "there is no task 9"),
        ('"Ada", "more"', "there is no task 'Ada'"),
        ('"orderer", "more"', "nobody has ordered this: only a task has an orderer"),
        ('"task 2", " "', "Tell needs something to say"),
        (f'"task 2", "x" * {MAX_WORD_CHARS + 1}', f"what is told has at most {MAX_WORD_CHARS:,} characters"),
        ('"task 2", object()', "Tell takes a text, or data: "),
        ('"task 2"', "Tell needs 'message'; it takes task, message"),
    ],
)
async def test_what_cannot_be_told_is_an_error_that_says_why(call: str, why: str, sandbox: MontySandbox) -> None:
    code = f"""
    await Result(await Spawn("Researcher", "Report"))
    await WaitForMessage("task 1")
    await Spawn("Researcher", "Listen")
    try:
        await Tell({call})
    except Exception as error:
        await Say("user", str(error))
"""
    (seen,) = await said(code, sandbox)
    assert seen.startswith(why)


@pytest.mark.parametrize("target", ["task 1", "Orderer"])
async def test_saying_something_to_a_task_points_to_the_call_that_does(target: str, sandbox: MontySandbox) -> None:
    code = f"""
    try:
        await Say("{target}", "more")
    except Exception as error:
        await Say("user", str(error))
"""
    (seen,) = await said(code, sandbox)
    assert seen == f"'{target}' is nobody here: Tell says something to a task, or to who has ordered one"


async def test_a_wait_for_a_task_ends_with_the_task(sandbox: MontySandbox) -> None:
    code = """
    for playbook in ("Rest", "Listen"):
        name = await Spawn("Researcher", playbook, within_s=60, deliver="nobody")
        if playbook == "Listen":
            await Cancel(name)
        for message in await WaitForMessage(name):
            await Say("user", f"{message['sender']}: {message['text'].partition(' (facts')[0]}")
        try:
            await WaitForMessage(name)
        except Exception as error:
            await Say("user", str(error))
"""
    assert await said(code, sandbox) == [
        "task 1: Task 1, Researcher.Rest, failed: it ran out of time.",
        "task 1 has ended, and says nothing more",
        "task 2: Task 2, Researcher.Listen, was cancelled.",
        "task 2 has ended, and says nothing more",
    ]


async def test_words_that_answer_each_other_without_end_are_an_error_and_a_pause_ends_the_chain(
    sandbox: MontySandbox,
) -> None:
    code = """
    name, rounds = await Spawn("Researcher", "Echo"), 0
    try:
        while True:
            await Tell(name, f"round {rounds}")
            await WaitForMessage(name)
            rounds += 1
    except Exception as error:
        await Say("user", f"{rounds}: {error}")
    await Sleep(2)
    await Tell(name, "again")
    await Say("user", (await WaitForMessage(name))[0]["text"])
"""
    seen = await said(code, sandbox)
    assert seen[0].startswith(f"{MAX_HOPS // 2}: task 1 was told nothing: {MAX_HOPS} words have led here")
    assert seen[1] == "again!"


@pytest.mark.parametrize("others", ["Echo", "Chatter"], ids=["that answers", "that says a first word each time"])
async def test_a_chain_of_words_with_one_task_counts_none_of_another(others: str, sandbox: MontySandbox) -> None:
    code = f"""
    name, rounds = await Spawn("Researcher", "Echo"), 0
    try:
        while True:
            other = await Spawn("Researcher", "{others}")
            await Tell(other, "1")
            await WaitForMessage(other)
            await Cancel(other)
            await Tell(name, "1")
            await WaitForMessage(name)
            rounds += 1
    except Exception as error:
        await Say("user", f"{{rounds}}: {{error}}")
"""
    (seen,) = await said(code, sandbox)
    assert seen.startswith(f"{MAX_HOPS // 2}: task 1 was told nothing: {MAX_HOPS} words have led here")


async def test_a_time_that_has_come_ends_a_chain_of_words(sandbox: MontySandbox) -> None:
    code = f"""
    name = await Spawn("Researcher", "Echo")
    for number in range({MAX_HOPS}):
        if number % 15 == 14:
            await Remind(0, "go on")
            await WaitForMessage("*")
        await Tell(name, "one")
        await WaitForMessage(name)
    await Say("user", "told")
"""
    assert await said(code, sandbox) == ["told"]


async def test_more_words_than_have_room_are_an_error(sandbox: MontySandbox) -> None:
    code = f"""
    name = await Spawn("Researcher", "Rest")
    try:
        for number in range({MAX_WORDS} + 1):
            await Tell(name, str(number))
    except Exception as error:
        await Say("user", str(error))
"""
    (seen,) = await said(code, sandbox)
    assert seen.startswith(f"task 1 was told nothing: {MAX_WORDS} words")


TALKATIVE = """
    name = await Spawn("Researcher", "Chatter", within_s=1_000_000, deliver="nobody")
    while True:
        for message in await WaitForMessage("user"):
            await Tell(name, message["text"]) if message["text"].isdigit() else None
"""


async def test_what_a_task_has_said_in_what_is_undone_keeps_it_from_saying_nothing_more() -> None:
    async with talking(ordering(TALKATIVE), Model(), tasks=TaskLimits()) as talk:
        talk.post("hi")
        await talk.until(lambda: bool(of_kind(talk, "task_posted")))
        await talk.settled()
        for time in (1, 2):
            talk.post(str(MAX_WORDS))
            await talk.until(partial(many, talk, "in", time * (MAX_WORDS + 1)))
            talk.post("", kind="undo")
            await talk.until(partial(many, talk, "branch", time))
        assert not of_kind(talk, "task_over")
        assert [one["text"] for one in of_kind(talk, "word_up")] == [str(number) for number in range(2 * MAX_WORDS)]


def many(talk: Talk, kind: str, count: int) -> bool:
    """Whether there are so many facts of a kind."""
    return len(of_kind(talk, kind)) >= count


async def test_words_for_which_an_agent_has_no_room_wait_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.agents.agent.QUEUE_CAPACITY", 5)
    code = f"""
    name = await Spawn("Researcher", "Chatter", within_s=1_000_000)
    for _ in range(3):
        await Tell(name, "{MAX_WORDS - 5}")
        await Sleep(10)
    await Say("user", str([task["status"] for task in await Tasks()]))
"""
    async with talking(ordering(code), Model(), tasks=TaskLimits()) as talk:
        talk.post("hi")
        await talk.until(lambda: bool(talk.chat))
        assert talk.chat == ["['working']"]
        assert len(of_kind(talk, "word_lost")) == 3 * (MAX_WORDS - 5) - 5
        assert len(talk.named("message.undelivered")) == len(of_kind(talk, "word_lost"))


class Narrow(World):
    """A world whose inbox has no room for events that `full` picks."""

    full: Callable[[InboxEvent], bool] = staticmethod(lambda _event: False)

    async def add(self, event: InboxEvent, /) -> bool:
        if self.full(event):
            raise InboxFull("no room")
        return await super().add(event)


async def test_a_full_inbox_of_one_task_holds_up_no_word_for_another() -> None:
    code = """
    one, two = await Spawn("Researcher", "Listen", within_s=1_000_000), await Spawn("Researcher", "Listen")
    await Tell(one, "come")
    await Tell(two, "go")
    await Say("user", str(await Result(two)))
    await Say("user", str(await Result(one)))
"""
    world = Narrow(())
    world.full = lambda event: event.kind == TASK_WORD and "come" in event.text
    async with talking(ordering(code), Model(), tasks=TaskLimits(), world=world) as talk:
        talk.post("hi")
        await talk.until(lambda: bool(talk.chat))
        assert talk.chat == ["[['orderer', 'Main', 'go']]"]
        # What a task has heard of an earlier session, which was undone, takes no word of this one that is on its way.
        task = of_kind(talk, "spawn")[0]["task"]
        talk.post(str(TakenWords(1, SessionId(""), task, up=True, seq=1_000)), kind=TASK_HEARD)
        await talk.settled()
        world.full = lambda _event: False
        await talk.until(lambda: len(talk.chat) == 2)
        assert talk.chat[1] == "[['orderer', 'Main', 'come']]"


async def test_the_word_of_an_agent_that_is_let_go_is_still_brought() -> None:
    code = """
    name = await Spawn("Researcher", "Listen", within_s=1_000_000)
    await CreateAgent("Researcher")
    who = await CreateAgent("Researcher")
    await CallAgent(who, "Pass", {"name": name})
    await DismissAgent(who)
    await Say("user", "gone")
    await Say("user", str(await Result(name)))
"""
    world = Narrow(())
    world.full = lambda event: event.kind == TASK_WORD
    async with talking(ordering(code), Model(), tasks=TaskLimits(), world=world) as talk:
        talk.post("hi")
        await talk.until(lambda: bool(talk.chat))
        assert talk.chat == ["gone"]
        world.full = lambda _event: False
        await talk.until(lambda: len(talk.chat) == 2)
        assert talk.chat[1] == "[['orderer', 'Researcher', 'come']]"


def ordered_so_far(talk: Talk, count: int) -> bool:
    return len(of_kind(talk, "spawn")) >= count


@pytest.mark.parametrize("ordered", [0, 1])
@pytest.mark.parametrize("kind", [TASK_WORD, TASK_OVER])
async def test_people_hear_nothing_of_a_task_that_an_undo_has_ended(kind: str, ordered: int) -> None:
    code = """
    while True:
        for message in await WaitForMessage("user"):
            if message["text"] == "order":
                await Spawn("Researcher", "Rest", deliver="nobody")
"""
    async with talking(ordering(code), Model(), tasks=TaskLimits(), after=("hi", "well")) as talk:
        for number in range(1, 3):  # the second time in what goes on from before the first one
            talk.post("order")
            await talk.until(partial(ordered_so_far, talk, number))
            await talk.say("", kind="undo")
        orders = [fact for fact in talk.world.facts if fact.kind == "spawn"]
        order = orders[ordered]
        orderer, task = SessionId(tape_owner(order.tape)), SessionId(order.data["task"])
        await talk.say("more")
        before = list(talk.chat)
        late = {
            TASK_WORD: TaskWord(1, orderer, task, up=True, klass="Researcher", text="half is done", hops=1),
            TASK_OVER: TaskResult(1, orderer, task, "completed", "all of it", None, first=1, last=9),
        }
        await talk.say(str(late[kind]), kind=kind)
        assert talk.chat == before


async def test_a_task_of_a_client_speaks_with_the_client() -> None:
    task, client = SessionId("t1"), address_data(Address(CLIENT, "ci"))
    async with talking(ordering("    pass\n"), Model(), tasks=TaskLimits()) as talk:
        due = talk.world.clock.now().timestamp() + 60
        order = TaskOrder(0, SessionId(""), "Researcher", "Asks", {}, due, 1, client, client, task)
        talk.post(str(order), at=address_of(task), kind=TASK)
        await talk.until(lambda: bool(of_kind(talk, "word_up")))
        await talk.say("1972", at=address_of(task), person_id="client:ci", name="ci")
        assert [fact["val"] for fact in of_kind(talk, "order_over")] == ["in 1972"]
        assert not any(entry.event.kind == TASK_WORD for entry in [*talk.world.waiting, *talk.world.dismissed])
        view = TaskView()
        async for fact in talk.world.read_session(task):
            view.note(fact)
        assert [(said.text, said.own) for said in view.said] == [("which year?", True), ("1972", False)]
        (word,) = [fact for fact in talk.world.facts if fact.kind == "word_up"]
        seen = event_of(word, TASK_MESSAGE)
        assert (seen.type, seen.subject, seen.as_data(content=True)["data"]) == (
            "task.message",
            "1000",
            {"text": "which year?"},
        )
        assert "data" not in seen.as_data(content=False) or "text" not in seen.as_data(content=False)["data"]


async def test_people_hear_the_word_of_a_task_that_outlives_its_conversation(sandbox: MontySandbox) -> None:
    code = """
    await Spawn("Researcher", "Late", keep=True)
    await EndProgram()
"""
    seen = await said(code, sandbox)
    assert seen == ["✉️ A background task says: “late news”", "✅ A background task is done: “done”"]


async def test_a_copy_of_a_conversation_reaches_no_task_of_it() -> None:
    code = """
    name = await Spawn("Researcher", "Listen", within_s=1_000_000)
    while True:
        await WaitForMessage("user")
        try:
            await Tell(name, "come")
        except Exception as error:
            await Say("user", str(error))
"""
    async with talking(ordering(code), Model(), tasks=TaskLimits()) as talk:
        talk.post("hi")
        await talk.until(lambda: bool(of_kind(talk, "task_posted")))
        await talk.settled()
        await talk.say("", kind=FORK_WANTED)
        (place,) = talk.world.threads
        await talk.say("go", at=place)
        assert talk.chat[-1] == "task 1 (Researcher.Listen) has ended, and hears no more"
        assert of_kind(talk, "word_down") == []


DESK = """# Desk

## Main
### Triggers
- At the beginning
### Steps
- Start a Researcher in the background as $research
- Tell $research that the deadline moved to Friday
- Wait for a word from $research
- Wait for the research and store the result in $found
- Say(user, "It came: {$found}.")
- End program

# Researcher
{researcher}
"""
WAITS = """
## public: Study
- Wait for the orderer
- Think about what the orderer wants
- Tell the orderer that half is done
- Return "all of it"
"""
WAITS_LATE = """
## public: Study
- Think about the sea
- Think about the shore
- Wait for the orderer
- Think about what the orderer wants
- Tell the orderer that half is done
- Return "all of it"
"""
WORKS = """
## public: Study
- Think about the sea
- Tell the orderer that half is done
- Think about the shore
- Return "all of it"
"""


@pytest.mark.parametrize(
    "researcher", [WAITS, WAITS_LATE, WORKS], ids=["that waits for it", "that waits for it later", "that never waits"]
)
async def test_steps_of_a_task_hear_a_word_once_and_answer_in_words(researcher: str) -> None:
    made = await compiled(DESK.replace("{researcher}", researcher))
    model = Model(*[Reply("Well.")] * 3)
    async with talking(made, model, tasks=TaskLimits()) as talk:
        assert await talk.say("hi") == ["It came: all of it."]
        told = "Message from Desk (orderer): The deadline moved to Friday."
        asked = ["\n".join(message.content for message in prompt) for prompt in model.asked]
        assert told.replace("Message from", "While you were working,") in asked[-1] or told in asked[-1]
        assert asked[-1].count("The deadline moved to Friday.") == 1
        taken = [fact for fact in talk.world.facts if fact.kind in ("took", "steer") and fact.data["mids"]]
        assert sorted(mid.partition(".")[0] for fact in taken for mid in fact.data["mids"]) == ["word", "word"]


async def test_a_model_that_executes_a_playbook_sees_a_word_in_its_next_prompt() -> None:
    main = agent("Main", llm("Main", "01:QUE Order the research", "02:YLD for exit", begins=True))
    researcher = agent("Researcher", python("Report", public=True), code=RESEARCHER)
    model = Model(
        block(
            'await Step("Main:01:QUE")', 'await Spawn("Researcher", "Report")', "await Sleep(5)", 'await Yld("call")'
        ),
        block('await Tell("task 1", "thanks")', 'await Yld("call")'),
        block('await Step("Main:02:YLD")', 'await Yld("exit")'),
    )
    async with talking(program(main, researcher), model, tasks=TaskLimits(), after="hi"):
        prompts = ["\n".join(message.content for message in prompt) for prompt in model.asked]
        assert "While you were working, Researcher (task 1) said: half is done" in prompts[1]
        assert "half is done" not in prompts[0]
        assert "task 1 (Researcher.Report) has ended, and hears no more" in prompts[2]
