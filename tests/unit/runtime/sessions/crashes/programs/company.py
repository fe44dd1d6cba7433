"""Programs for the crash rig in which several agents, or several kinds of playbooks, work together."""

from msgspec.structs import replace

from runtime.language.program import PlaybookSpec
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.programs.collecting import COLLECTED
from tests.unit.runtime.sessions.programs import MAIN, agent, exits, llm, program, python, triggers


def meeting(name: str, *required: str) -> PlaybookSpec:
    """A meeting in natural language."""
    return replace(llm(name), metadata={"meeting": True, "required_attendees": list(required)})


CALLED = Case(
    program(
        agent("Chief", llm("Main", "01:QUE Say", "02:QUE Helper.Ask()", "03:QUE Say", "04:YLD for exit", begins=True)),
        agent("Helper", llm("Ask", "01:QUE Ask", "02:YLD for user", "03:RET the answer", public=True)),
    ),
    ("hi", "41"),
    ("I shall have somebody ask you", "how old are you, please?", "so you are 41"),
    replies=(
        (
            'await Step("Main:01:QUE")',
            'await Say("user", "I shall have somebody ask you")',
            'await Step("Main:02:QUE")',
            "age = await Helper.Ask()",
            'await Step("Main:03:QUE")',
            'await Say("user", f"so you are {age}")',
            *exits("Main:04:YLD"),
        ),
    ),
    reacts={
        "Ask": {
            "41": ('await Step("Ask:03:RET")', 'await Var("__", "done")', 'await Return("41")'),
            "": (
                'await Step("Ask:01:QUE")',
                'await Say("user", "how old are you, please?")',
                'await Step("Ask:02:YLD")',
                'await Yld("user")',
            ),
        }
    },
)

MET = Case(
    program(
        agent(
            "Host", llm("Main", "01:QUE Talk()", "02:QUE Say", "03:YLD for exit", begins=True), meeting("Talk", "Guest")
        ),
        agent("Guest", meeting("Join")),
    ),
    ("go",),
    ("What do you suggest, all of you?", "an idea, number 7", "we chose number 7"),
    replies=(
        (
            'await Step("Main:01:QUE")',
            "idea = await Talk()",
            'await Step("Main:02:QUE")',
            'await Say("user", f"we chose {idea}")',
            *exits("Main:03:YLD"),
        ),
    ),
    reacts={
        "Talk": {
            "an idea": ('await Var("__", "done")', 'await Return("number 7")'),
            "please start the meeting": (
                'await Say("meeting", "What do you suggest, all of you?")',
                'await Yld("meeting")',
            ),
            "": ('await Yld("meeting")',),
        },
        "Join": {
            "suggest": ('await Say("meeting", "an idea, number 7")', 'await Yld("meeting")'),
            "has ended": ('await Var("__", "done")', "await Return(None)"),
            "": ('await Yld("meeting")',),
        },
    },
)

UNMET = Case(
    program(
        agent(
            "Host",
            MAIN,
            python("Talk", meeting=True, required_attendees=["Guest"]),
            python("Chat", meeting=True, required_attendees=["Friend"]),
            code="""
async def Main():
    missing = await Talk()
    await Say("user", missing.split(".")[0])
    await Chat()
    await Say("user", "after all")
    await EndProgram()

async def Talk():
    await Say("user", "never said")

async def Chat():
    await Say("meeting", "hello, friend")
    for message in await WaitForMessage("meeting"):
        if message["type"] == "meeting_broadcast":
            await Say("user", "heard: " + message["text"])
    await EndMeeting()
""",
        ),
        agent("Guest", python("Wave"), code="async def Wave(): pass"),
        agent(
            "Friend",
            python("Join", meeting=True),
            code="""
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            if "friend" in message["text"]:
                await Say("meeting", "good bye")
                return await LeaveMeeting()
""",
        ),
    ),
    ("go",),
    (
        "Meeting 100 did not take place: Guest: REJECTED - cannot handle this type of meeting",
        *("hello, friend", "good bye", "heard: good bye", "after all"),
    ),
)

TIMED = Case(
    program(agent("Timed", llm("Main", "01:QUE Wait", "02:QUE Wait again", "03:YLD for exit", begins=True))),
    ("hi", "a word"),
    ("at first there was None", "then there was a word"),
    replies=(
        (
            'await Step("Main:01:QUE")',
            'first = await WaitForMessage("user", 5)',
            'await Say("user", f"at first there was {first}")',
            'await Step("Main:02:QUE")',
            'second = await WaitForMessage("user")',
            'await Say("user", f"then there was {second[0][\'text\']}")',
            *exits("Main:03:YLD"),
        ),
    ),
)

GATHERED = Case(
    program(
        agent(
            "Gather",
            llm("Main", "01:QUE Gather", "02:QUE Say", "03:YLD for exit", begins=True),
            llm("Recount", "01:QUE Say", "02:RET 5"),
            python("Twice", "n"),
            code="""
async def Twice(n):
    await Sleep(n)
    await Var(f"done{n}", await Random() < 2)
    return 2 * n
""",
        )
    ),
    ("hi",),
    ("meanwhile I talk", "6 5 4 True True"),
    replies=(
        (
            'await Step("Main:01:QUE")',
            "import asyncio",
            "a, b, c = await asyncio.gather(Twice(3), Recount(), Twice(2))",
            'await Step("Main:02:QUE")',
            'await Say("user", f"{a} {b} {c} {done2} {done3}")',
            *exits("Main:03:YLD"),
        ),
    ),
    others={
        "Recount": (
            'await Step("Recount:01:QUE")',
            'await Say("user", "meanwhile I talk")',
            'await Step("Recount:02:RET")',
            'await Var("__", "done")',
            "await Return(5)",
        )
    },
)

TRIGGERED = Case(
    program(
        agent(
            "Trigger",
            llm("Main", "01:QUE Count", "02:QUE Say", "03:YLD for exit", begins=True),
            replace(llm("Big"), triggers=triggers("CND When $x > 10")),
        )
    ),
    ("hi", "because"),
    ("Why is it so big?", "x is 50, since because"),
    replies=(
        (
            'await Step("Main:01:QUE")',
            'await Var("x", 5)',
            'await Var("x", 50)',
            'await Step("Main:02:QUE")',
            'await Say("user", f"x is {x}, since {why}")',
            *exits("Main:03:YLD"),
        ),
    ),
    reacts={
        "Big": {
            "because": ('await Var("why", "because")', 'await Var("__", "done")', "await Return(None)"),
            "": ('await Say("user", "Why is it so big?")', 'await Yld("user")'),
        }
    },
)

BEGINNINGS = Case(
    program(
        agent(
            "Double",
            python("First", trigger="BGN When"),
            python("Second", trigger="BGN When"),
            python("Answer", "messages", trigger="EVT When asked"),
            code="""
async def First():
    await Say("user", ("one " + variables.get("startup_message", "")).strip())

async def Second():
    await Say("user", "two")

async def Answer(messages):
    await Say("user", "you said " + messages)
    if messages == "bye":
        await EndProgram()
""",
        )
    ),
    ("hi", "well", "new", "bye", "hi again"),
    ("one hi", "two", "you said well", "one", "two", "you said bye", "one hi again", "two"),
)

MENDED = Case(
    program(agent("Mend", llm("Main", "01:QUE Count", "02:QUE Say", "03:YLD for exit", begins=True))),
    ("hi",),
    ("this will go wrong at first", "but x is 5"),
    replies=(
        (
            'await Step("Main:01:QUE")',
            'await Say("user", "this will go wrong at first")',
            "x = 1 // 0",
            'await Step("Main:02:QUE")',
        ),
    ),
    mended=(
        'await Step("Main:01:QUE")',
        'await Say("user", "this will go wrong at first")',
        "x = 5",
        'await Step("Main:02:QUE")',
        'await Say("user", f"but x is {x}")',
        *exits("Main:03:YLD"),
    ),
)

REFUSED = Case(
    program(agent("Refused", llm("Main", "01:QUE Count", "02:QUE Say", "03:YLD for exit", begins=True))),
    ("hi",),
    ("let me look into that", "there is nothing"),
    replies=(
        (
            'await Step("Main:01:QUE")',
            'await Say("user", "let me look into that")',
            'open("secrets")',
            'await Step("Main:02:QUE")',
            'await Say("user", "there is nothing")',
            *exits("Main:03:YLD"),
        ),
    ),
    refused='open("secrets")',
)

COMPANY = {
    "called": CALLED,
    "collected": COLLECTED,
    "met": MET,
    "unmet": UNMET,
    "timed": TIMED,
    "gathered": GATHERED,
    "triggered": TRIGGERED,
    "beginnings": BEGINNINGS,
    "mended": MENDED,
    "refused": REFUSED,
}
