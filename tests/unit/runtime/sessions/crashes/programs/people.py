"""Programs for the crash rig with people who are told apart: bound, told, waited for and asked by name."""

from typing import Any

from runtime.language.program import AgentKind, AgentSpec
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.programs import MAIN, SPAN, agent, exits, llm, program, python


def human(klass: str, /, **metadata: Any) -> AgentSpec:
    """A declared human."""
    return AgentSpec(klass, AgentKind.HUMAN, SPAN, metadata=metadata)


NAMED = Case(
    program(
        agent(
            "Clerk",
            MAIN,
            code="""
async def Main():
    await Say("user", "who is there?")
    for message in await WaitForMessage("Bob"):
        await Say("Bob", f"hello {message['name']}, {message['class']}")
    for message in await WaitForMessage("user"):
        await Say("Alice", f"{message['name']} said {message['text']}")
    for message in await WaitForMessage("Alice"):
        await Say("alice", "so you are " + message["name"])
    await EndProgram()
""",
        ),
        human("Alice", person="test:Ada"),
        human("Bob"),
    ),
    ("by:Ada:hi", "by:Bo:order:iam:Bob", "by:Bo:here", "by:Bo:more", "by:Ada:me"),
    ("who is there?", "Bo is Bob here.", "hello Bob, Bob", "Bob said more", "so you are Alice"),
)

AWAITED = Case(
    program(
        agent(
            "Clerk",
            llm(
                "Main",
                "01:QUE Say; YLD for Bob",
                "02:QUE Say; YLD for user",
                "03:QUE Say",
                "04:YLD for exit",
                begins=True,
            ),
        ),
        human("Alice"),
        human("Bob"),
    ),
    ("by:Alice:hi", "by:Bob:here", "by:Bob:yes"),
    ("where is Bob, Alice?", "there you are, Bob!", "he is here, Alice"),
    replies=(
        ('await Step("Main:01:QUE")', 'await Say("Alice", "where is Bob, Alice?")', 'await Yld("Bob")'),
        ('await Step("Main:02:QUE")', 'await Say("Bob", "there you are, Bob!")', 'await Yld("user")'),
        (
            'await Step("Main:03:QUE")',
            'await Say("Alice", "he is here, Alice")',
            *exits("Main:04:YLD"),
        ),
    ),
)

HELD = Case(
    program(
        agent(
            "Clerk",
            MAIN,
            code="""
async def words(*parts):
    for part in parts:
        yield part

async def Main():
    await Say("user", words("one ", "at a ", "time"))
    await WaitForMessage("user")
    await Say("Alice", "two, to be held back")
    await WaitForMessage("user", 3)
    await Say("user", "three")
""",
        ),
        human("Alice", delivery_channel="buffered", buffer_timeout=60),
    ),
    ("hi", "on"),
    ("one at a time", "two, to be held back", "three"),
)

HANDLED = Case(
    program(
        agent(
            "Clerk",
            MAIN,
            python("Post", "message"),
            code="""
async def Main():
    await Say("user", "a letter")
    value = await Random()
    await Say("Alice", "a parcel" if value < 2 else "nothing")
    await EndProgram()

async def Post(message):
    number = await Random()
    await Say("user", message["to"] + " gets " + message["text"])
    if "parcel" in message["text"] and number < 2:
        await Say("user", "it is heavy")
""",
        ),
        human("Alice", delivery_channel="custom", delivery_handler="Post"),
    ),
    ("hi",),
    ("Alice gets a letter", "Alice gets a parcel", "it is heavy"),
)

VOTE = Case(
    program(
        agent(
            "Clerk",
            MAIN,
            code="""
async def Main():
    await WaitForMessage("Bob")
    votes = await Ask("Shall we?", ["Yes", "No"], of=["Alice", "Bob"])
    await Say("user", ", ".join(f"{name}: {votes[name]}" for name in sorted(votes)))
    await EndProgram()
""",
        ),
        human("Alice"),
        human("Bob"),
    ),
    ("by:Alice:hi", "by:Bob:here", "by:Bob:press:1", "by:Alice:yes"),
    ("Shall we?", "Bob has answered (1 of 2).", "Alice has answered (2 of 2).", "Alice: Yes, Bob: No"),
)

WALKOUT = Case(
    program(
        agent(
            "Clerk",
            MAIN,
            python("Council", meeting=True, required_attendees=["Alice", "Bob"]),
            code="""
async def Main():
    await WaitForMessage("Bob")
    await Say("user", await Council())
    await EndProgram()

async def Council():
    votes = await Ask("Shall we?", ["Yes", "No"], of=["Alice", "Bob"])
    return ", ".join(f"{name}: {votes[name]}" for name in sorted(votes))
""",
        ),
        human("Alice"),
        human("Bob"),
    ),
    ("by:Alice:hi", "by:Bob:here", "by:Bob:order:leave:", "by:Alice:yes"),
    (
        "Meeting started",
        "Shall we?",
        "Bob has left the meeting",
        "You have left meeting 100.",
        "Bob has left and will not answer (1 of 2).",
        "Alice has answered (2 of 2).",
        "Meeting has ended",
        "Alice: Yes, Bob: None",
    ),
    in_order=False,
)

ANSWERED_BELOW = Case(
    program(
        agent(
            "Clerk",
            MAIN,
            code="""
async def Main():
    await Say("user", "went " + await Ask("Which way?"))
    await EndProgram()
""",
        ),
    ),
    ("hi", "by:Bo:in:0:left"),
    ("Which way?", "went left"),
    places=True,
)

PEOPLE = {
    "named": NAMED,
    "awaited": AWAITED,
    "held": HELD,
    "handled": HANDLED,
    "vote": VOTE,
    "walkout": WALKOUT,
    "answered below": ANSWERED_BELOW,
}
"""By name, for the crash rig."""
