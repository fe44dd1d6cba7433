"""The first programs of the crash rig: whole small stories."""

from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.programs import MAIN, agent, exits, llm, program, python

CHILD = """
async def Weather(city):
    number = await Random()
    await Say("user", f"Looking at {city} …")
    return {"city": city, "sunny": number < 2}
"""

HELLO = Case(
    program(
        agent(
            "Hello",
            llm(
                "Main",
                "01:QUE Ask for the $name; YLD for user",
                "02:QUE Weather",
                "03:QUE Greet",
                "04:YLD for exit",
                begins=True,
            ),
            python("Weather", "city"),
            code=CHILD,
        )
    ),
    ("hi", "Ada"),
    (
        "Hello there! What is your name?",
        "Looking at Oslo …",
        "Nice to meet you, Ada, sunny: True",
        "Good bye and come again!",
    ),
    replies=(
        ('await Step("Main:01:QUE")', 'await Say("user", "Hello there! What is your name?")', 'await Yld("user")'),
        (
            'await Var("name", "Ada")',
            'await Step("Main:02:QUE")',
            'w = await Weather("Oslo")',
            'await Step("Main:03:QUE")',
            'await Say("user", f"Nice to meet you, {name}, sunny: {w[\'sunny\']}")',
            'await Say("user", "Good bye and come again!")',
            'await Step("Main:04:YLD")',
            'await Var("__", "done")',
            'await Yld("exit")',
        ),
    ),
)

LOOP = """
import asyncio

async def Main():
    a, b = await asyncio.gather(Double(2), Double(5))
    await Var("sum", a + b)
    await Say("user", f"sum {variables['sum']}")
    try:
        await Fail()
    except ValueError as error:
        await Say("user", f"caught {error}")
    await Listen(0)
    await Say("user", "bye")
    await EndProgram()

async def Double(x):
    await Sleep(1)
    return 2 * x

async def Fail():
    await Now()
    raise ValueError("no luck")

async def Big():
    await Say("user", "the sum is big")

async def Listen(count):
    for message in await WaitForMessage("user"):
        count += 1
        await Say("user", f"{count}: {message['text']}")
    if count < 3:
        return Again(count)
    return count
"""

PYTHON = Case(
    program(
        agent(
            "Loop",
            MAIN,
            python("Double", "x"),
            python("Fail"),
            python("Big", trigger="CND When $sum > 10"),
            python("Listen", "count"),
            code=LOOP,
        )
    ),
    ("start", "one", "two", "three"),
    ("the sum is big", "sum 14", "caught no luck", "1: one", "2: two", "3: three", "bye"),
)

HOST = """
async def Main():
    answer = await Talk()
    await Say("user", f"we chose {answer}")
    await EndProgram()

async def Talk():
    await Say("meeting", "What do you suggest?")
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"].startswith("idea"):
                return message["text"]
"""

GUEST = """
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"] == "Meeting has ended":
                return
            if "suggest" in message["text"]:
                await Say("meeting", "idea 7")
"""

MEETING = Case(
    program(
        agent(
            "Host",
            MAIN,
            python("Talk", meeting=True, required_attendees=["Guest"]),
            code=HOST,
        ),
        agent("Guest", python("Join", meeting=True), code=GUEST),
    ),
    ("go",),
    ("What do you suggest?", "idea 7", "we chose idea 7"),
)

TELL = (
    'await Step("Recount:01:QUE")',
    'await Say("user", "said by the child, at length")',
    'await Step("Recount:02:RET")',
    'await Var("__", "told")',
    'await Var("__", "done")',
    "await Return(5)",
)

NESTED = Case(
    program(
        agent(
            "Nested",
            llm("Main", "01:QUE Say", "02:QUE Recount()", "03:QUE Say", "04:YLD for exit", begins=True),
            llm("Recount", "01:QUE Say", "02:RET 5"),
        )
    ),
    ("hi",),
    ("first of all from the caller", "said by the child, at length", "the child gave 5"),
    replies=(
        (
            'await Step("Main:01:QUE")',
            'await Say("user", "first of all from the caller")',
            'await Step("Main:02:QUE")',
            "x = await Recount()",
            'await Step("Main:03:QUE")',
            'await Say("user", f"the child gave {x}")',
            *exits("Main:04:YLD"),
        ),
    ),
    others={"Recount": TELL},
)
