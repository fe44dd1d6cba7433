"""Programs for the crash rig about who decides what comes next: triggers that a model judges, messages that begin
playbooks, work call by call, and statements that fail while they run."""

from msgspec.structs import replace

from runtime.language.program import Param
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.programs import agent, exits, llm, program, python, triggers

_SHOP = """
async def Refund(order):
    await Say("user", f"looking at order {order}")
    return int(order) * 10
"""

JUDGED = Case(
    program(
        agent(
            "Main",
            llm("Main", "01:QUE Ask; YLD for user", "02:QUE Say", "03:YLD for exit", begins=True),
            python("Refund", "order", trigger="EVT When the user wants money back"),
            code=_SHOP,
        )
    ),
    ("hi", "my money"),
    ("What can I do for you?", "looking at order 5", "you get 50"),
    replies=(
        ('await Step("Main:01:QUE")', 'await Say("user", "What can I do for you?")', 'await Yld("user")'),
        (
            'await Trigger("Main:Refund:T1:EVT")',
            'x = await Refund("5")',
            'await Step("Main:02:QUE")',
            'await Say("user", f"you get {x}")',
            *exits("Main:03:YLD"),
        ),
    ),
)

PROCESSED = Case(
    program(
        agent(
            "Main",
            llm("Other", "01:QUE Say"),
            python("Refund", "order", trigger="EVT When the user wants money back"),
            code=_SHOP,
        )
    ),
    ("my money for order 7",),
    ("one moment please", "looking at order 7", "you get 70"),
    others={
        "ProcessMessages": (
            'await Say("user", "one moment please")',
            'await Trigger("Main:Refund:T1:EVT")',
            'x = await Refund("7")',
            'await Say("user", f"you get {x}")',
            'await Var("__", "refunded")',
            "await Return(None)",
        )
    },
)

BEGUN = Case(
    program(
        agent(
            "Main",
            python("Hear", "messages", trigger="EVT Whenever a message from a user arrives"),
            llm("Other", "01:QUE Say"),
            code="""
async def Hear(messages):
    await Say("user", f"heard {messages}")
    await Var("count", variables.get("count", 0) + 1)
    await Say("user", f"that makes {variables['count']}")
""",
        )
    ),
    ("one", "two"),
    ("heard one", "that makes 1", "heard two", "that makes 2"),
)

REACTS = Case(
    program(
        agent(
            "Main",
            replace(llm("Main", begins=True), metadata={"execution_mode": "react"}),
            python("Add", "a", "b"),
            python("Square", "n"),
            code="""
async def Add(a, b):
    await Say("user", f"adding {a} and {b}")
    return a + b

def Square(n):
    return n * n
""",
        )
    ),
    ("hi",),
    ("adding 2 and 3", "it is 25 then"),
    replies=(
        ("a = await Add(2, 3)", 'await Yld("call")'),
        ("b = await Square(a)", 'await Yld("call")'),
        ('await Say("user", f"it is {b} then")', 'await Var("__", "found the sum")', "await Return(b)"),
    ),
)

_ASTRAY = 'for n in [1, 0]: x = 1 / n; await Say("user", f"this is round {n}")'

ASTRAY = Case(
    program(agent("Main", llm("Main", "01:EXE Go", "02:QUE Say", "03:YLD for exit", begins=True))),
    ("hi",),
    ("this is round 1", "and no other round"),
    replies=((_ASTRAY, 'await Step("Main:02:QUE")'),),
    mended=(
        _ASTRAY,
        'await Step("Main:02:QUE")',
        'await Say("user", "and no other round")',
        *exits("Main:03:YLD"),
    ),
)

CHECKED = Case(
    program(
        agent(
            "Main",
            llm("Main", "01:EXE Count", "02:QUE Say", "03:YLD for exit", begins=True),
            replace(llm("Alarm", "01:QUE Say", "02:RET"), triggers=triggers("CND When $heat > 10")),
            python("Warm"),
            code="""
async def Warm():
    for heat in (5, 20, 30):
        await Var("heat", heat)
    return "warm"
""",
        )
    ),
    ("hi",),
    ("it gets hot in here", "now it is warm, 30"),
    replies=(
        (
            'await Step("Main:01:EXE")',
            "x = await Warm()",
            'await Step("Main:02:QUE")',
            'await Say("user", f"now it is {x}, {heat}")',
            *exits("Main:03:YLD"),
        ),
    ),
    others={
        "Alarm": (
            'await Step("Alarm:01:QUE")',
            'await Say("user", "it gets hot in here")',
            'await Step("Alarm:02:RET")',
            'await Var("__", "warned")',
            "await Return(None)",
        )
    },
)

PRICED = Case(
    program(
        agent(
            "Main",
            llm("Main", "01:EXE Buy", "02:QUE Say", "03:YLD for exit", begins=True),
            replace(llm("Buy", "01:EXE Buy", "02:RET"), params=(Param("price", state=True, type="int"),)),
            python("Dear", trigger="CND When $price > 100"),
            python("Kept", trigger="CND When $bill is set"),
            code="""
async def Dear():
    await Say("user", f"that is dear: {variables['price']}")
    for message in await WaitForMessage("user"):
        await Say("user", f"you say {message['text']}")

async def Kept():
    await Say("user", "the bill is kept")
""",
        )
    ),
    ("hi", "all right"),
    ("that is dear: 200", "you say all right", "buying it", "the bill is kept", "bought for 200, 600"),
    replies=(
        (
            'await Step("Main:01:EXE")',
            'x = await Buy("200")',
            'await SaveArtifact("bill", "what was paid", "a" * 600)',
            'await Step("Main:02:QUE")',
            'await Say("user", f"bought for {x}, {len(bill)}")',
            *exits("Main:03:YLD"),
        ),
    ),
    others={
        "Buy": (
            'await Step("Buy:01:EXE")',
            'await Say("user", "buying it")',
            'await Step("Buy:02:RET")',
            'await Var("__", "bought")',
            "await Return(price)",
        )
    },
)

CONTROL = {
    "priced": PRICED,
    "judged": JUDGED,
    "processed": PROCESSED,
    "begun": BEGUN,
    "reacts": REACTS,
    "astray": ASTRAY,
    "checked": CHECKED,
}
