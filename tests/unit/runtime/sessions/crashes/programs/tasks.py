"""Programs whose agents order tasks, for the crash rig."""

from collections.abc import Mapping

from runtime.core.address import Address
from runtime.language.program import Program
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python

RESEARCHER = """
async def Study(topic):
    return "all about " + topic

async def Fail():
    raise ValueError("no library")

async def Wait():
    await Sleep(10_000)

async def Parts():
    one, two = await Spawn("Researcher", "Study", ["sea"]), await Spawn("Researcher", "Study", ["shore"])
    return await Result(one) + ", " + await Result(two)

async def Which():
    return await Ask("Which way?")

async def Further():
    return "further " + await Result(await Spawn("Researcher", "Which"))

async def Haggle():
    await Tell("orderer", "which?")
    heard = await WaitForMessage("orderer")
    for part in ("ebb", "flow"):
        await Tell("orderer", part + " of " + heard[0]["text"])
    return "done"

async def Leave():
    await Spawn("Researcher", "Wait")
    return "left"
"""


def ordering(code: str) -> Program:
    """A program whose `Main` may order what a researcher can do."""
    can = [python(name, public=True) for name in ("Fail", "Wait", "Parts", "Leave", "Which", "Further", "Haggle")]
    researcher = agent("Researcher", python("Study", "topic", public=True), *can, code=RESEARCHER)
    return program(agent("Main", MAIN, code=code), researcher)


TASKS: Mapping[str, Case] = {
    "tasks": Case(
        ordering("""
async def Main():
    one = await Spawn("Researcher", "Study", {"topic": "tides"})
    two = await Spawn("Researcher", "Fail")
    three = await Spawn("Researcher", "Wait")
    await Cancel(three)
    for task in (two, three, one):
        try:
            await Say("user", await Result(task))
        except Exception as error:
            await Say("user", str(error))
    await EndProgram()
"""),
        ("start",),
        (
            "no library",
            "task 3 (Researcher.Wait) was cancelled",
            "all about tides",
        ),
    ),
    "tasks of tasks": Case(
        ordering("""
async def Main():
    await Say("user", await Result(await Spawn("Researcher", "Parts")))
    await Say("user", await Result(await Spawn("Researcher", "Leave")))
    await EndProgram()
"""),
        ("start",),
        ("all about sea, all about shore", "left"),
    ),
    "words to and from a task": Case(
        ordering("""
async def Main():
    task, heard = await Spawn("Researcher", "Haggle"), []
    while len(heard) < 3:
        for message in await WaitForMessage(task):
            heard.append(message["text"])
            if message["text"] == "which?":
                await Tell(task, "tides")
    await Say("user", ", ".join(heard[:3]))
    await Say("user", await Result(task))
    await EndProgram()
"""),
        ("start",),
        ("which?, ebb of tides, flow of tides", "done"),
    ),
    "words to and from two tasks": Case(
        ordering("""
async def Main():
    tasks = [await Spawn("Researcher", "Haggle"), await Spawn("Researcher", "Haggle")]
    for about, task in zip(("tides", "waves"), tasks):
        heard = []
        while len(heard) < 3:
            for message in await WaitForMessage(task):
                heard.append(message["text"])
                if message["text"] == "which?":
                    await Tell(task, about)
        await Say("user", ", ".join(heard[:3]))
    await Say("user", await Result(tasks[0]) + await Result(tasks[1]))
    await EndProgram()
"""),
        ("start",),
        ("which?, ebb of tides, flow of tides", "which?, ebb of waves, flow of waves", "donedone"),
    ),
    "a task out of time": Case(
        ordering("""
async def Main():
    task = await Spawn("Researcher", "Wait", within_s=60)
    await Say("user", str(await Result(task, 5)))
    try:
        await Result(task)
    except Exception as error:
        await Say("user", str(error))
    await EndProgram()
"""),
        ("start",),
        ("None", "task 1 (Researcher.Wait) failed: it ran out of time"),
    ),
    "a task asks for words": Case(
        ordering("""
async def Main():
    await Say("user", await Result(await Spawn("Researcher", "Which")))
    await EndProgram()
"""),
        ("start", "?straight on"),
        ("Task 1 (Researcher.Which) asks: Which way?\nReply to this message.", "straight on"),
    ),
    "a task of a task asks for words, and hears those in the thread below": Case(
        ordering("""
async def Main():
    await Say("user", await Result(await Spawn("Researcher", "Further")))
    await EndProgram()
"""),
        ("start", "?in:0:on"),
        ("Task 1 (Researcher.Which) asks: Which way?\nReply to this message.", "further on"),
        places=True,
    ),
    "a result for another conversation": Case(
        ordering("""
async def Main():
    await Result(await Spawn("Researcher", "Study", ["tides"], deliver="team"))
    await EndProgram()
"""),
        ("start",),
        ("✅ Researcher.Study is done: all about tides",),
        task_places={"team": Address("test", "team")},
    ),
    "a result nobody waits for": Case(
        ordering("""
async def Main():
    await Spawn("Researcher", "Study", ["tides"])
    for message in await WaitForMessage("*"):
        await Say("user", message["text"].partition(" (facts")[0])
    await EndProgram()
"""),
        ("start",),
        ("Task 1, Researcher.Study, is completed. Its result: all about tides",),
    ),
}
