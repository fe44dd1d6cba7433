"""Programs for the crash rig that use built-in calls: files of the program, lines of the log, reminders."""

from pathlib import Path

from msgspec.structs import replace

from runtime.language.diagnostics import Span
from runtime.language.program import AgentSpec
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.programs import MAIN, agent, exits, llm, program, python

_LINE = Path(__file__).with_name("__init__.py").read_text(encoding="utf-8").strip()


def _here(made: AgentSpec) -> AgentSpec:
    """The agent of a program whose file lies beside this one."""
    return replace(made, span=Span(str(Path(__file__).with_name("test.pb")), 1))


LOADED = Case(
    replace(
        program(
            _here(
                agent(
                    "Main",
                    llm("Main", "01:EXE Look it up", "02:QUE Say", "03:YLD for exit", begins=True),
                    python("Rules"),
                    code="""
async def Rules():
    await Log("reading")
    text = await LoadFile("__init__.py")
    await Say("user", "I have read it")
    return text.strip()
""",
                )
            )
        ),
        pbasm="__init__.py",
    ),
    ("hi",),
    ("I have read it", f"{_LINE}{len(_LINE)}"),
    replies=(
        (
            'await Step("Main:01:EXE")',
            "a = await Rules()",
            'b = (await LoadFile("__init__.py")).strip()',
            'await Log("read", same=a == b)',
            'await Step("Main:02:QUE")',
            'await Say("user", f"{a}{len(b)}")',
            *exits("Main:03:YLD"),
        ),
    ),
)

REMINDED = Case(
    program(
        agent(
            "Main",
            MAIN,
            code="""
async def Main():
    await Remind(5, "the tea")
    await Remind(60, "the oven")
    await Log("set", at=await Now())
    await Sleep(10)
    await Say("user", "slept")
    for _ in range(2):
        for message in await WaitForMessage("user"):
            await Say("user", message["text"])
    await EndProgram()
""",
        )
    ),
    ("hi",),
    ("slept", "the tea", "the oven"),
)

REMINDED_MODEL = Case(
    program(
        agent("Main", llm("Main", "01:QUE Remind", "02:YLD for user", "03:QUE Say it", "04:YLD for exit", begins=True))
    ),
    ("hi",),
    ("Call Bob!",),
    replies=(
        (
            'await Step("Main:01:QUE")',
            'await Remind(30, "call Bob")',
            "await Sleep(1)",
            'await Step("Main:02:YLD")',
            'await Yld("user")',
        ),
        (
            'await Step("Main:03:QUE")',
            'await Say("user", "Call Bob!")',
            *exits("Main:04:YLD"),
        ),
    ),
)

ASSIGNED = Case(
    program(
        agent(
            "Main",
            MAIN,
            python("Big", trigger="CND When $x > 10"),
            python("Note", "text"),
            code="""
import asyncio

async def Main():
    agent.state.heard = []
    agent.state.x = 5
    agent.state.x = 50
    await Say("user", f"x is {agent.state.x}")
    waiting = asyncio.ensure_future(WaitForMessage("user"))
    await asyncio.gather(Note("one"), Note("two"))
    agent.state.heard.append((await waiting)[0].content)
    given_up = asyncio.ensure_future(WaitForMessage("user"))
    agent.state.x = 1
    given_up.cancel()
    await Say("user", f"{agent.state.heard} {agent.state.one} {agent.state.two} {agent.state.x}")
    await EndProgram()

async def Big():
    await Say("user", "Why so big?")
    agent.state.heard.append((await WaitForMessage("user"))[0].content)

async def Note(text):
    await Sleep(1)
    agent.state[text] = [text]
    agent.state[text].append("noted")
""",
        )
    ),
    ("start", "because", "go on"),
    ("Why so big?", "x is 50", "['because', 'go on'] ['one', 'noted'] ['two', 'noted'] 1"),
)
"""Assignments that the code does not await: with triggers, in place, and while other calls are under way."""

BUILT_IN = {"assigned": ASSIGNED, "loaded": LOADED, "reminded": REMINDED, "reminded model": REMINDED_MODEL}
