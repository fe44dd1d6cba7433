"""Programs of many shapes for the crash rig: what is said, and what must be seen in the end."""

from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.programs.built_in import BUILT_IN
from tests.unit.runtime.sessions.crashes.programs.company import COMPANY
from tests.unit.runtime.sessions.crashes.programs.control import CONTROL
from tests.unit.runtime.sessions.crashes.programs.lineage import UNDOING
from tests.unit.runtime.sessions.crashes.programs.meetings import MEETINGS
from tests.unit.runtime.sessions.crashes.programs.modes import MODES
from tests.unit.runtime.sessions.crashes.programs.participants import PARTICIPANTS
from tests.unit.runtime.sessions.crashes.programs.people import PEOPLE
from tests.unit.runtime.sessions.crashes.programs.shared import SHARING
from tests.unit.runtime.sessions.crashes.programs.tales import HELLO, MEETING, NESTED, PYTHON
from tests.unit.runtime.sessions.crashes.programs.walked import WALKED
from tests.unit.runtime.sessions.crashes.programs.walking import WALKING
from tests.unit.runtime.sessions.programs import MAIN, agent, exits, llm, program, python

RACE = Case(
    program(
        agent(
            "Race",
            MAIN,
            code="""
import asyncio

async def Main():
    answer = asyncio.create_task(WaitForMessage("user"))
    limit = asyncio.create_task(Sleep(30))
    done, _ = await asyncio.wait({answer, limit}, return_when=asyncio.FIRST_COMPLETED)
    answer.cancel()
    await Say("user", "too late" if limit in done else "in time")
    nothing = await WaitForMessage("user", 5)
    await Say("user", f"then {nothing}")
    for message in await WaitForMessage("user"):
        await Say("user", message["text"])
    await EndProgram()
""",
        )
    ),
    ("start", "a word"),
    ("too late", "then None", "a word"),
)

GROUP = Case(
    program(
        agent(
            "Group",
            MAIN,
            python("Slow", "n"),
            python("Fail"),
            code="""
import asyncio

async def Main():
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(Slow(1))
            group.create_task(Fail())
    except* ValueError as caught:
        await Say("user", f"caught {caught.exceptions[0]}")
    async with asyncio.TaskGroup() as group:
        one, two = group.create_task(Slow(2)), group.create_task(Slow(3))
    await Say("user", f"sum {one.result() + two.result()}")
    await EndProgram()

async def Slow(n):
    if n == 1:
        await WaitForMessage("agent 1000")
    await Var("last", n)
    return n

async def Fail():
    await Now()
    raise ValueError("no luck")
""",
        )
    ),
    ("start",),
    ("caught no luck", "sum 5"),
)

SPEAKERS = Case(
    program(
        agent(
            "Choir",
            MAIN,
            python("Sing", "name"),
            code="""
import asyncio

async def words(*parts):
    for part in parts:
        yield part

async def Main():
    await asyncio.gather(Say("user", words("one ", "two ", "three")), Say("user", "four"), Sing("a"), Sing("b"))
    await Say("user", "silence")
    await EndProgram()

async def Sing(name):
    await Say("user", words("la ", "la ", name))
""",
        )
    ),
    ("start",),
    ("four", "la la a", "la la b", "one two three", "silence"),
    in_order=False,
)

SANDWICH = Case(
    program(
        agent(
            "Sandwich",
            llm("Main", "01:QUE Say", "02:QUE Middle(2)", "03:QUE Say", "04:YLD for exit", begins=True),
            python("Middle", "n"),
            llm("Inner", "01:QUE Think", "02:RET", params=("n",)),
            code="""
async def Middle(n):
    await Say("user", "in the middle")
    value = await Inner(n + 1)
    await Var("middle", value)
    return value * 10
""",
        )
    ),
    ("hi",),
    ("the beginning of it all", "in the middle", "thinking it over", "we got 6000 and 600"),
    replies=(
        (
            'await Step("Main:01:QUE")',
            'await Say("user", "the beginning of it all")',
            'await Step("Main:02:QUE")',
            "v = await Middle(2)",
            'await Step("Main:03:QUE")',
            'await Say("user", f"we got {v} and {middle}")',
            *exits("Main:04:YLD"),
        ),
    ),
    others={
        "Inner": (
            'await Step("Inner:01:QUE")',
            'await Say("user", "thinking it over")',
            "x = n * 100",
            'await Step("Inner:02:RET")',
            'await Var("__", "done")',
            "await Return(x * 2)",
        )
    },
)

LETTERS = Case(
    program(
        agent(
            "Main",
            llm("Main", "01:QUE Ask Other; YLD for agent", "02:QUE Tell", "03:YLD for exit", begins=True),
        ),
        agent(
            "Other",
            python("Answer", "messages", trigger="EVT When asked"),
            code="""
async def Answer(messages):
    await Say("Main", f"an echo of {messages}")
""",
        ),
    ),
    ("hi",),
    ("I am asking", "I was told"),
    replies=(
        (
            'await Step("Main:01:QUE")',
            'await Say("Other", "seven")',
            'await Say("user", "I am asking")',
            'await Yld("agent")',
        ),
        (
            'await Step("Main:02:QUE")',
            'await Say("user", "I was told")',
            *exits("Main:03:YLD"),
        ),
    ),
)

TRIGGER = Case(
    program(
        agent(
            "Trigger",
            MAIN,
            python("Big", trigger="CND When $x > 10"),
            code="""
async def Main():
    await Var("x", 5)
    await Var("x", 50)
    await Say("user", f"x is {variables['x']}, {variables['why']}")
    await EndProgram()

async def Big():
    await Say("user", "Why so big?")
    for message in await WaitForMessage("user"):
        await Var("why", message["text"])
""",
        )
    ),
    ("start", "because"),
    ("Why so big?", "x is 50, because"),
)

BUSY = Case(
    program(
        agent(
            "Busy",
            MAIN,
            python("Work"),
            code="""
import asyncio

async def Main():
    answer = asyncio.create_task(WaitForMessage("user"))
    await asyncio.gather(Work(), Var("y", 1))
    await Say("user", f"worked {variables['n']}")
    answer.cancel()
    await EndProgram()

async def Work():
    for n in range(3):
        await Var("n", n)
        await Now()
""",
        )
    ),
    ("start",),
    ("worked 2",),
)

QUESTION = Case(
    program(
        agent(
            "Asker",
            MAIN,
            code="""
async def Main():
    one = await Ask("Ship it?", ["Yes", "No"])
    two = await Ask("Sure?", ["Yes", "No"], of="Ada")
    await Say("user", f"{one}, {two}")
    await EndProgram()
""",
        )
    ),
    ("start", "press:1", "yes"),
    ("Ship it?", "Sure?", "No, Yes"),
)

MODEL_QUESTION = Case(
    program(agent("Asker", llm("Main", "01:QUE Ask", "02:QUE Say", "03:YLD for exit", begins=True))),
    ("hi", "press:0"),
    ("I have a question for you", "Ship it?", "so it is Yes"),
    replies=(
        (
            'await Step("Main:01:QUE")',
            'await Say("user", "I have a question for you")',
            'answer = await Ask("Ship it?", ["Yes", "No"])',
            'await Step("Main:02:QUE")',
            'await Say("user", f"so it is {answer}")',
            *exits("Main:03:YLD"),
        ),
    ),
)

CHANGES = Case(
    program(
        agent(
            "Ears",
            MAIN,
            code="""
async def Main():
    await Say("user", "listening")
    for _ in range(3):
        for message in await WaitForMessage("user"):
            asides = [aside["type"] for aside in message.get("asides", [])]
            await Say("user", f"{message['text']} {message['type']} {asides}")
    await EndProgram()
""",
        )
    ),
    ("start", "one", "edit:m2:uno", "deletion:m2:", "reaction:0:+1", "two"),
    ("listening", "one direct []", "uno edited []", "two direct ['deleted', 'reaction']"),
)

WORK = (
    (
        'await Step("Main:01:QUE")',
        'await Say("user", "the first thing to be said")',
        'await Say("user", "the second thing to be said")',
        'await Step("Main:02:YLD")',
        'await Yld("user")',
    ),
    (
        'await Step("Main:03:QUE")',
        'await Say("user", "an answer to what came meanwhile")',
        *exits("Main:04:YLD"),
    ),
)

WORKER = program(
    agent("Work", llm("Main", "01:QUE Say", "02:YLD for user", "03:QUE Say", "04:YLD for exit", begins=True))
)

QUEUED = Case(
    WORKER,
    ("hi", "!and this"),
    ("the first thing to be said", "the second thing to be said", "an answer to what came meanwhile"),
    replies=WORK,
)

FREE = program(agent("Work", llm("Main", begins=True)))

FREE_WORK = (
    (
        'await Say("user", "the first thing to be said")',
        'await Say("user", "the second thing to be said")',
        'await Say("user", "the third thing to be said")',
        'await Yld("user")',
    ),
    ('await Say("user", "an answer to what came meanwhile")', 'await Yld("user")'),
)

STEERED = Case(FREE, ("hi", "!and this"), (FREE_WORK[1][0].split('"')[3],), replies=FREE_WORK, busy="steer", loose=True)

INTERRUPTED = Case(FREE, ("hi", "!and this"), (), replies=FREE_WORK, busy="interrupt", loose=True)

STOPPED = Case(
    FREE,
    ("hi", "!stop", "again"),
    ("⏹ Stopped. The next message starts the program over.",),
    replies=FREE_WORK,
    loose=True,
)

CASES = {
    **PARTICIPANTS,
    "hello": HELLO,
    "python": PYTHON,
    "meeting": MEETING,
    "nested": NESTED,
    "stopped": STOPPED,
    "steered": STEERED,
    "interrupted": INTERRUPTED,
    "question": QUESTION,
    "model_question": MODEL_QUESTION,
    "changes": CHANGES,
    "queued": QUEUED,
    "race": RACE,
    "group": GROUP,
    "speakers": SPEAKERS,
    "sandwich": SANDWICH,
    "letters": LETTERS,
    "trigger": TRIGGER,
    "busy": BUSY,
    **UNDOING,
    **COMPANY,
    **SHARING,
    **MEETINGS,
    **MODES,
    **CONTROL,
    **WALKED,
    **WALKING,
    **BUILT_IN,
    **PEOPLE,
    **WALKED,
}
