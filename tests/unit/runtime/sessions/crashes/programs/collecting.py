"""A program for the crash rig in which an agent waits for one of several that speak to it."""

from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.programs import agent, llm, program, python

TALKER = """
async def Talk():
    while True:
        for message in await WaitForMessage("agent 1000"):
            await Say("agent 1000", "first")
            await Say("agent 1000", "second")
            await Say("agent 1002", "they know")
"""

TAX = """
async def Answer():
    while True:
        for message in await WaitForMessage("agent 1001"):
            await Say("agent 1000", "twenty percent")
"""

COLLECTED = Case(
    program(
        agent("Host", llm("Main", "01:QUE Ask Tax; YLD for Tax", "02:QUE Say it; YLD for exit", begins=True)),
        agent("Talker", python("Talk", trigger="BGN When program starts"), code=TALKER),
        agent("Tax", python("Answer", trigger="BGN When program starts"), code=TAX),
    ),
    ("go",),
    ("It is 20 %.",),
    replies=(
        ('await Step("Main:01:QUE")', 'await Say("Talker", "talk")', 'await Yld("Tax")'),
        ('await Step("Main:02:QUE")', 'await Say("user", "It is 20 %.")', 'await Yld("exit")'),
    ),
)
"""What the Talker says comes with the answer of Tax; had each woken the Host, it would have answered too early."""
