"""Programs for the crash rig with agents that are played in another process."""

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.language.program import AgentKind, AgentSpec, PlaybookSpec, Program
from runtime.sessions.inbound.participants import SeatAct
from tests.fakes.people.player import says
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.programs import MAIN, SPAN, agent, exits, llm, program, python

SCOUT = AgentSpec("Scout", AgentKind.REMOTE, SPAN, "Knows the terrain.")


def lead(code: str, *playbooks: PlaybookSpec) -> Program:
    """An agent that begins with `Main`, beside the scout."""
    return program(agent("Lead", MAIN, *playbooks, code=code), SCOUT)


def _guide(content: Mapping[str, Any]) -> Sequence[SeatAct]:
    if content["kind"] != "direct":
        return []
    return [says(f"I think about {content['text']}", to="user"), says(f"number {content['text']}")]


ASKED = Case(
    lead(
        """
async def Main():
    for question in ("one", "two"):
        await Say("Scout", question)
        for message in await WaitForMessage("agent Scout"):
            await Say("user", message["text"])
    await EndProgram()
""",
    ),
    ("go",),
    ("I think about one", "number one", "I think about two", "number two"),
    plays=_guide,
)

ASKED_BY_MODEL = Case(
    program(
        agent(
            "Lead",
            llm("Main", "01:QUE Say; YLD for agent Scout", "02:QUE Say", "03:YLD for exit", begins=True),
        ),
        SCOUT,
    ),
    ("go",),
    ("I shall ask the scout", "I think about one", "the scout has answered"),
    replies=(
        (
            'await Step("Main:01:QUE")',
            'await Say("user", "I shall ask the scout")',
            'await Say("Scout", "one")',
            'await Yld("Scout")',
        ),
        (
            'await Step("Main:02:QUE")',
            'await Say("user", "the scout has answered")',
            *exits("Main:03:YLD"),
        ),
    ),
    plays=_guide,
)


def _attends(content: Mapping[str, Any]) -> Sequence[SeatAct]:
    if content["kind"] == "meeting_invitation":
        return [SeatAct("", "answer", meeting=content["meeting"], text="JOINED")]
    if "suggest" not in content["text"]:
        return []
    share = SeatAct("", "share", meeting=content["meeting"], name="boat", text='"Gull"')
    return [share, says("a boat", to="meeting"), SeatAct("", "leave", meeting=content["meeting"])]


ATTENDED = Case(
    lead(
        """
async def Main():
    await Say("user", f"we chose {await Talk()}")
    await EndProgram()

async def Talk():
    await Say("meeting", "What do you suggest?")
    heard = []
    while "Scout has left the meeting" not in heard:
        heard += [message["text"] for message in await WaitForMessage("meeting")]
    boat = await Shared("boat", with_version=True)
    return f"{heard[0]}, {boat['value']} {boat['version']}"
""",
        python("Talk", meeting=True, required_attendees=["Scout"]),
    ),
    ("go",),
    ("What do you suggest?", "a boat", "we chose a boat, Gull 1"),
    plays=_attends,
)

TOLD = Case(
    program(
        agent(
            "Lead",
            MAIN,
            code="""
async def Main():
    for who in ("Scout", "Helper", "user"):
        ack = await Say(who, "a word", ack_within_s=40)
        again = sorted(ack["acknowledged"] + ack["missing"])
        await Say("user", f"told {', '.join(again)}")
    await EndProgram()
""",
        ),
        SCOUT,
        agent(
            "Helper", python("Listen", trigger="BGN When"), code="async def Listen():\n    await WaitForMessage('*')"
        ),
    ),
    ("go",),
    ("told agent 1002", "told agent 1001", "a word", "told user"),
)

TOLD_BY_MODEL = Case(
    program(agent("Lead", llm("Main", "01:QUE Say", "02:QUE Say", "03:YLD for exit", begins=True))),
    ("go",),
    ("a word that everybody should read", "now I know", "how many: 1"),
    replies=(
        (
            'await Step("Main:01:QUE")',
            'ack = await Say("user", "a word that everybody should read", ack_within_s=40)',
            'await Step("Main:02:QUE")',
            'await Say("user", "now I know", ack_within_s=40)',
            "await Say(\"user\", f\"how many: {len(ack['acknowledged']) + len(ack['missing'])}\")",
            *exits("Main:03:YLD"),
        ),
    ),
)

LAST_WORD = Case(
    lead(
        """
async def Main():
    await Say("user", "that was all")
    await Say("Scout", "good bye")
    await EndProgram()
""",
    ),
    ("go", "again"),
    ("that was all", "that was all"),
)

STOPPED_ELSEWHERE = Case(
    lead(
        """
async def Main():
    await Say("user", "I ask")
    await Say("Scout", "one")
    for message in await WaitForMessage("agent Scout"):
        await Say("user", message["text"])
    await WaitForMessage("user")
""",
    ),
    ("go", "stop", "again"),
    ("I ask", "number one", "⏹ Stopped. The next message starts the program over.", "I ask", "number one"),
    plays=lambda content: [says(f"number {content['text']}")],
)

PARTICIPANTS = {
    "last word": LAST_WORD,
    "stopped elsewhere": STOPPED_ELSEWHERE,
    "asked elsewhere": ASKED,
    "asked by a model": ASKED_BY_MODEL,
    "attended from elsewhere": ATTENDED,
    "told": TOLD,
    "told by a model": TOLD_BY_MODEL,
}
