"""Cases for the crash rig in which a meeting is held in a place of its own."""

from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python

_COUNCIL = program(
    agent(
        "Host",
        MAIN,
        python("Council", meeting=True, optional_attendees=["user"], topic="The boat"),
        code="""
async def Main():
    await Say("user", "hello")
    while True:
        for message in await WaitForMessage("user"):
            if message["text"] == "meet":
                await Say("user", f"it came to {await Council()}")
            else:
                await Say("user", "home: " + message["text"])

async def Council():
    heard = 0
    while True:
        for message in await WaitForMessage("meeting"):
            if not message.get("human"):
                continue
            if message["text"] == "done":
                return heard
            heard += 1
            await Say("meeting", f"{heard}: " + message["text"])
""",
    )
)

_HOME = " [The conversation it belongs to](at:test:1)"

_OPENED = (
    "hello",
    "👥 Host invites Ada to a meeting: [The boat](at:test:1#t1)",
    f"👥 Host is holding a meeting here: The boat. The meeting hears what you write here.{_HOME}",
    *("@Ada Host invites you to meeting 100: The boat. Do you want to join?",) * 5,
    "1: a red one",
)
"""Time passes quickly here, so Ada is asked as often as anybody is; she comes in by writing."""

_OVER = "👥 The meeting here has ended, so nobody heard that. /new starts a separate conversation here."


def _undone(text: str) -> str:
    return f"↩️ Undone. We are back to before Ada said “{text}”. Everything since then is forgotten."


HELD = Case(
    _COUNCIL,
    ("hi", "meet", "in:t1:a red one", "in:t1:or a blue one", "in:t1:done", "in:t1:too late", "and now?"),
    (
        *_OPENED,
        "2: or a blue one",
        "Meeting has ended",
        f"👥 From now on, nobody hears what you write here.{_HOME}",
        "👥 The meeting “The boat” has ended: 2",
        "it came to 2",
        _OVER + _HOME,
        "home: and now?",
    ),
    in_order=False,
)

TAKEN_BACK = Case(
    _COUNCIL,
    ("hi", "meet", "in:t1:a red one", "undo", "in:t1:a green one", "undo", "undo", "in:t1:too late", "and now?"),
    (
        *_OPENED,
        _undone("a red one"),
        "1: a green one",
        _undone("a green one"),
        _undone("meet"),
        f"👥 This meeting was undone, and everything in it is forgotten.{_HOME}",
        _OVER + _HOME,
        "home: and now?",
    ),
    in_order=False,
)

STOPPED = Case(
    _COUNCIL,
    ("hi", "meet", "in:t1:a red one", "stop", "in:t1:too late"),
    (
        *_OPENED,
        "Meeting has ended (Host was stopped)",
        f"👥 From now on, nobody hears what you write here.{_HOME}",
        "⏹ Stopped. The next message starts the program over.",
        _OVER + _HOME,
    ),
    in_order=False,
)

HELD_IN_PLACES = {"held": HELD, "taken_back": TAKEN_BACK, "stopped": STOPPED}
