"""Programs for the crash rig that use the modes, artifacts, values in descriptions, and triggers around calls."""

from msgspec.structs import replace

from runtime.language.program import Param, PlaybookSpec
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.programs import MAIN, SPAN, agent, exits, llm, program, python, triggers

_CODE = """
async def Fetch():
    await Say("user", "fetching it")
    return "It rains. " * 100

def beginning(text):
    agent.state.fetched = text
    return text[:8]

async def Before():
    await Say("user", "about to fetch")

async def After():
    for message in await WaitForMessage("user"):
        await Var("note", message["text"])
"""


def _oracle(placeholder: str) -> Case:
    """A question to the model whose prompt has a value that a call gives."""
    guess = PlaybookSpec(
        "Guess",
        "llm",
        SPAN,
        params=(Param("what"),),
        returns="int",
        description=f"You execute Guess as an oracle: how many {{what}}? {placeholder}",
        metadata={"execution_mode": "raw"},
    )
    main = llm("Main", "01:QUE Guess()", "02:QUE Say", "03:YLD for exit", begins=True)
    return Case(
        program(agent("Main", main, guess, python("Fetch"), code=_CODE)),
        ("hi",),
        ("fetching it", "there are 42 of them"),
        replies=(
            (
                'await Step("Main:01:QUE")',
                'n = await Guess("stars")',
                'await Step("Main:02:QUE")',
                'await Say("user", f"there are {n + 1} of them")',
                *exits("Main:03:YLD"),
            ),
        ),
        others={"Guess": ("41",)},
    )


RAW = _oracle("{Fetch()[:8]}")
RAW_IN_PYTHON = _oracle("{beginning(Fetch())}")

ARTIFACT = Case(
    program(
        agent(
            "Main",
            llm("Main", "01:EXE Fetch()", "02:EXE Load it", "03:QUE Say", "04:YLD for exit", begins=True),
            python("Fetch"),
            code=_CODE,
        )
    ),
    ("hi",),
    ("fetching it", "1000 1000 1000"),
    replies=(
        (
            'await Step("Main:01:EXE")',
            "text = await Fetch()",
            'await SaveArtifact("report", "the weather", text)',
            'await Yld("call")',
        ),
        ('await Step("Main:02:EXE")', 'x = await LoadArtifact("report")', 'await Yld("call")'),
        (
            'await Step("Main:03:QUE")',
            'await Say("user", f"{len(x)} {len(report)} {len(_)}")',
            *exits("Main:04:YLD"),
        ),
    ),
)

AROUND = Case(
    program(
        agent(
            "Main",
            llm("Main", "01:EXE Fetch()", "02:QUE Say", "03:YLD for exit", begins=True),
            python("Fetch"),
            replace(python("Before"), triggers=triggers("EVT Before calling Fetch")),
            replace(python("After"), triggers=triggers("EVT When Fetch returns")),
            code=_CODE,
        )
    ),
    ("hi", "noted"),
    ("about to fetch", "fetching it", "1000 and noted"),
    replies=(
        (
            'await Step("Main:01:EXE")',
            "text = await Fetch()",
            'await Step("Main:02:QUE")',
            'await Say("user", f"{len(text)} and {note}")',
            *exits("Main:03:YLD"),
        ),
    ),
)

PLAYERS = Case(
    program(
        agent("Main", llm("Main", "01:EXE Play", "02:QUE Say", "03:YLD for exit", begins=True)),
        agent(
            "Player",
            python("Move", "square", public=True),
            code="""
async def Move(square):
    await Say("user", f"{variables['mark']} to {square}")
    return square + 1
""",
        ),
    ),
    ("hi",),
    ("x to 4", "agent 1001 agent 1001 5"),
    replies=(
        (
            'await Step("Main:01:EXE")',
            'one = await CreateAgent("Player", mark="x")',
            'two = await IdleAgent("Player", mark="o")',
            'n = await CallAgent(one, "Move", {"square": 4})',
            'await Step("Main:02:QUE")',
            'await Say("user", f"{one} {two} {n}")',
            *exits("Main:03:YLD"),
        ),
    ),
)

TICK = Case(
    program(
        agent(
            "Main",
            MAIN,
            python("Tick", trigger="EVT Every minute"),
            code="""
async def Main():
    await Say("user", "waiting")
    await WaitForMessage("user")
    await Say("user", "never")

async def Tick():
    count = variables.get("count", 0) + 1
    await Var("count", count)
    await Say("user", f"tick {count}")
    if count == 2:
        await EndProgram()
""",
        )
    ),
    ("hi",),
    ("waiting", "tick 1", "tick 2"),
)

MODES = {
    "raw": RAW,
    "raw in python": RAW_IN_PYTHON,
    "artifact": ARTIFACT,
    "around": AROUND,
    "players": PLAYERS,
    "tick": TICK,
}
