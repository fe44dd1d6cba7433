"""Programs for the crash rig whose meetings take every turn that a meeting can take."""

from typing import Any

from runtime.language.program import AgentKind, AgentSpec, Program
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.programs import MAIN, SPAN, agent, program, python

MAIN_CODE = """
async def Main():
    await Say("user", f"{await Talk()}")
    await EndProgram()

async def heard(*words):
    while True:
        for message in await WaitForMessage("meeting"):
            if any(message["text"].startswith(word) for word in words):
                return message["text"]
"""

GUEST = """
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            text = message["text"]
            if text.startswith("Meeting has ended"):
                return await Say("user", f"a guest knows: {text}")
            if text.startswith("What was said"):
                await Say("meeting", "I have read " + text.splitlines()[-1])
            if text == "you may go":
                return await LeaveMeeting()
            if text == "you may end it":
                return await EndMeeting()
"""


def host(talk: str, *others: AgentSpec, main: str = MAIN_CODE, **attendees: Any) -> Program:
    """A host whose meeting is `talk`."""
    body = "".join(f"    {line}\n" for line in talk.strip().splitlines())
    code = f"{main}\nasync def Talk():\n{body}"
    return program(agent("Host", MAIN, python("Talk", meeting=True, **attendees), code=code), *others)


def guest(name: str = "Guest", code: str = GUEST) -> AgentSpec:
    return agent(name, python("Join", meeting=True), code=code)


ASKED = "@Alice Host invites you to meeting 100: Talk. Do you want to join?"

CONSIDERED = Case(
    host(
        'await InviteToMeeting(["Choosy"])\nreturn await heard("Choosy does not")',
        guest(code=GUEST.replace('await Say("user", f"a guest knows: {text}")', "None")),
        agent(
            "Choosy",
            python("Join", meeting=True, before_joining="Consider"),
            python("Consider", "topic"),
            code="""
async def Join():
    pass

async def Consider(topic):
    await Say("user", "let me think")
    await Sleep(1)
    return f"{topic} is not my topic"
""",
        ),
        required_attendees=["Guest"],
    ),
    ("go",),
    ("let me think", "Choosy does not join the meeting: REJECTED - Talk is not my topic"),
)

UNANSWERED = Case(
    host(
        "return 1",
        AgentSpec("Alice", AgentKind.HUMAN, SPAN),
        AgentSpec("Carol", AgentKind.HUMAN, SPAN),
        required_attendees=["Alice"],
    ),
    ("go",),
    (ASKED, *["Waiting for Alice to join.", ASKED] * 4, "Meeting 100 did not take place: Alice: did not answer"),
)

OCCUPIED = Case(
    host(
        'await Say("meeting", "at last")\nreturn "they met"',
        agent(
            "Guest",
            MAIN,
            python("Join", meeting=True),
            code=GUEST.replace('return await Say("user", f"a guest knows: {text}")', "return")
            + '\nasync def Main():\n    await Sleep(100)\n    await Say("user", "now I have time")\n',
        ),
        required_attendees=["Guest"],
    ),
    ("go",),
    ("now I have time", "at last", "they met"),
)

LATE = Case(
    host(
        'await Say("meeting", "one")\n'
        'await InviteToMeeting(["Late"])\n'
        'told = await heard("I have read")\n'
        'await Say("meeting", "two")\n'
        "return told",
        guest(code=GUEST.replace('await Say("user", f"a guest knows: {text}")', "None")),
        guest("Late", GUEST.replace('await Say("user", f"a guest knows: {text}")', "None")),
        required_attendees=["Guest"],
    ),
    ("go",),
    ("one", "I have read Host: one", "two", "I have read Host: one"),
)

SOLO = Case(
    host(
        'await Say("meeting", "you may go")\n'
        "told = []\n"
        'while "End this meeting?" not in told:\n'
        '    told += [message["text"] for message in await WaitForMessage("meeting")]\n'
        "await EndMeeting()\n"
        "return told",
        guest(),
        required_attendees=["Guest"],
    ),
    ("go",),
    ("you may go", "['Guest has left the meeting', 'End this meeting?']"),
)

FAILS = Case(program(
        agent(
            "Host",
            MAIN,
            python("Talk", meeting=True, required_attendees=["Guest"]),
            code="""
async def Main():
    try:
        await Talk()
    except ValueError as error:
        await WaitForMessage("agent 1001")
        await Say("user", f"failed: {error}")
    await EndProgram()

async def Talk():
    await Say("meeting", "I cannot go on")
    raise ValueError("no ideas")
""",
        ),
        guest(code=GUEST.replace('f"a guest knows: {text}")', 'f"a guest knows: {text}")\n').replace(
            'return await Say("user"', 'await Say("Host", "all right")\n                return await Say("user"'
        )),
    ),
    ("go",),
    ("I cannot go on", "a guest knows: Meeting has ended (Host failed: no ideas)", "failed: no ideas"),
    in_order=False,
)  # fmt: skip

ENDED = Case(
    host(
        'await Say("meeting", "you may end it")\nreturn await heard("Meeting has ended")',
        guest(),
        required_attendees=["Guest"],
    ),
    ("go",),
    ("you may end it", "Meeting has ended"),
)

WOKEN = Case(
    host(
        'await heard("I shall ask")\nawait Sleep(20)\nreturn "enough"',
        guest(
            code="""
async def Join():
    await Say("meeting", "I shall ask")
    answer = await Ask("Which way?", ["left", "right"])
    told = [message["text"] for message in await WaitForMessage("meeting")]
    await Say("user", f"{answer}: {told[-1]}")
    await Say("Other", "done")
"""
        ),
        guest(
            "Other",
            """
async def Join():
    told = [message["text"] for message in await WaitForMessage("agent 1001")]
    await Say("user", f"no answer: {told}")
    await WaitForMessage("agent 1001")
    await Say("user", "now there is one")
    await EndProgram()
""",
        ),
        main=MAIN_CODE.replace("    await EndProgram()\n", ""),
        required_attendees=["Guest", "Other"],
    ),
    ("go",),
    (
        *("I shall ask", "Which way?", "enough", "no answer: ['Meeting has ended']", "None: Meeting has ended"),
        "now there is one",
    ),
    in_order=False,
)

PERSON = Case(
    host(
        'await Say("meeting", "what do you say?")\n'
        "while True:\n"
        '    for message in await WaitForMessage("meeting"):\n'
        '        if message.get("human"):\n'
        '            return message["text"]',
        guest(code=GUEST.replace('await Say("user", f"a guest knows: {text}")', "None")),
        required_attendees=["user", "Guest"],
    ),
    ("go", "a boat"),
    ("Meeting started", "what do you say?", "Meeting has ended", "a boat"),
)

MEETINGS = {
    "unanswered": UNANSWERED,
    "occupied": OCCUPIED,
    "late": LATE,
    "solo": SOLO,
    "fails": FAILS,
    "ended": ENDED,
    "woken": WOKEN,
    "person": PERSON,
    "considered": CONSIDERED,
}
