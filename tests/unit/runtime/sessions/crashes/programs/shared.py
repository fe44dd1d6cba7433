"""Programs for the crash rig whose agents and people share the state of a meeting, and order things of it."""

from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.crashes.programs.company import meeting
from tests.unit.runtime.sessions.programs import MAIN, agent, exits, llm, program, python

AUCTION = Case(
    program(
        agent(
            "Host",
            MAIN,
            python("Auction", meeting=True, required_attendees=["Bidder"]),
            code="""
async def Main():
    await Say("user", f"sold for {await Auction()}")
    await EndProgram()

async def Auction():
    first = await Share("price", 10)
    await Say("meeting", f"the price is 10, version {first}")
    await WaitForMessage("meeting")
    try:
        await Share("price", 11, expected=first)
    except SharedStateConflict:
        await Say("user", "somebody was faster")
    await EndMeeting()
    return (await Shared("price", with_version=True))["value"]
""",
        ),
        agent(
            "Bidder",
            python("Join", meeting=True),
            code="""
async def Join():
    for _ in range(20):
        for message in await WaitForMessage("meeting"):
            if "the price" in message["text"]:
                bid = await Shared("price") + 5
                version = await Share("price", bid, expected=1)
                await Say("meeting", f"I bid {bid}, version {version}")
            if message["text"] == "Meeting has ended":
                return
""",
        ),
    ),
    ("go",),
    ("the price is 10, version 1", "I bid 15, version 2", "somebody was faster", "sold for 15"),
)

BOARD = Case(
    program(
        agent(
            "Host", llm("Main", "01:QUE Play()", "02:QUE Say", "03:YLD for exit", begins=True), meeting("Play", "Guest")
        ),
        agent("Guest", meeting("Join")),
    ),
    ("go",),
    ("It is your move, guest", "I have moved to x", "the board is [1, 'x', 3]"),
    replies=(
        (
            'await Step("Main:01:QUE")',
            "board = await Play()",
            'await Step("Main:02:QUE")',
            'await Say("user", f"the board is {board}")',
            *exits("Main:03:YLD"),
        ),
    ),
    reacts={
        "Play": {
            "have moved": ('await Var("__", "played")', 'await Return(shared["board"])'),
            "please start the meeting": (
                'await Share("board", [1, 2, 3])',
                'await Say("meeting", "It is your move, guest")',
                'await Yld("meeting")',
            ),
            "": ('await Yld("meeting")',),
        },
        "Join": {
            "your move": (
                'board = shared["board"]',
                'board[1] = "x"',
                'await Share("board", board, expected=1)',
                'await Say("meeting", f"I have moved to {shared[\'board\'][1]}")',
                'await Yld("meeting")',
            ),
            "has ended": ('await Var("__", "played")', "await Return(None)"),
            "": ('await Yld("meeting")',),
        },
    },
)

HOSTED = program(
    agent(
        "Host",
        MAIN,
        python("Plan", meeting=True, optional_attendees=["Ada"]),
        code="""
async def Main():
    await Say("user", f"it is over: {await Plan()}")
    await EndProgram()

async def Plan():
    await Share("budget", 1200)
    heard = []
    while True:
        for message in await WaitForMessage("meeting"):
            heard.append(message["text"])
            if message["text"].startswith("Meeting has ended"):
                return [await Shared("budget"), len([text for text in heard if "Cook" in text])]
""",
    ),
    agent(
        "Cook",
        python("Join", meeting=True),
        code="""
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"].startswith("Meeting has ended"):
                return
""",
    ),
)

ORDERED = Case(
    HOSTED,
    ("go", "order:meeting:set budget 900", "order:invite:Cook", "order:meeting:end"),
    (
        "Meeting started",
        "budget = `900` in meeting 100 · version 2",
        "Ada invited Cook. Waiting…",
        "Cook (agent 1001) has joined the meeting",
        "Cook is invited to meeting 100.",
        "Meeting 100 has ended.",
        "Meeting has ended",
        "it is over: [900, 2]",
    ),
    in_order=False,
)

LEFT = Case(
    HOSTED,
    ("go", "order:leave:", "order:agents:", "order:meeting:100 end"),
    (
        "Meeting started",
        "You have left meeting 100.",
        "- Host: waiting for messages in meeting 100 · 0 s",
        "Meeting 100 has ended.",
        "it is over: [1200, 0]",
    ),
    in_order=False,
)

SHARING = {"auction": AUCTION, "board": BOARD, "ordered": ORDERED, "left": LEFT}
