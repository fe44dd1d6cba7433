"""Cases for the crash rig in which something is undone, or goes on in a second place."""

from tests.fakes.crashes.rig import thread_in_shard
from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.programs import MAIN, agent, llm, program

_COUNTER = program(
    agent(
        "Counter",
        MAIN,
        code="""
async def Main():
    total = 0
    while True:
        for message in await WaitForMessage("user"):
            total += 1
            await Say("user", f"{total}: " + message["text"])
""",
    )
)

_ASKER = program(
    agent(
        "Asker",
        MAIN,
        code="""
async def Main():
    while True:
        answer = await Ask("Ship it?", ["Yes", "No"])
        await Say("user", f"answer: {answer}")
        await WaitForMessage("user")
""",
    )
)

_WORKER = program(agent("Work", llm("Main", "01:QUE Say", "02:YLD for user", begins=True)))

_TURN = ('await Step("Main:01:QUE")', 'await Say("user", "{}")', 'await Step("Main:02:YLD")', 'await Yld("user")')


def _turn(text: str) -> tuple[str, ...]:
    return tuple(line.format(text) for line in _TURN)


def _undone(text: str) -> str:
    return f"↩️ Undone. We are back to before Ada said “{text}”. Everything since then is forgotten."


UNDONE = Case(
    _COUNTER,
    ("hi", "one", "two", "undo", "undo", "again"),
    ("1: one", "2: two", _undone("two"), _undone("one"), "1: again"),
)

UNDONE_QUESTION = Case(
    _ASKER, ("hi", "press:0", "undo", "press:1"), ("Ship it?", "answer: Yes", _undone("Yes"), "Ship it?", "answer: No")
)

UNDONE_AT_WORK = Case(
    _WORKER,
    ("hi", "tell me a story", "!undo", "and now?"),
    (_undone("tell me a story"),),
    replies=(_turn("hello to everybody here"), _turn("a story that takes a while to be told")),
    loose=True,
)

UNDONE_WHOLLY = Case(
    _COUNTER,
    ("hi", "undo", "ho", "one"),
    ("↩️ Undone. We are back to before Ada said “hi”, at the very beginning. Write to start again.", "1: one"),
)

UNDOING = {
    "undone": UNDONE,
    "undone_question": UNDONE_QUESTION,
    "undone_at_work": UNDONE_AT_WORK,
    "undone_wholly": UNDONE_WHOLLY,
}

FORKED = Case(
    _COUNTER,
    ("hi", "one", "fork:Another way", "at:t1:two", "two instead"),
    (
        "1: one",
        "🌱 This conversation now also continues in a second place: [Another way](at:test:1#t1). Nothing changes here.",
        "🌱 This continues another conversation, from after Ada said “one”. What is said here stays here. "
        "[Where it began](at:test:1)",
        "2: two",
        "2: two instead",
    ),
    in_order=False,
)

FORKED_QUESTION = Case(
    _ASKER,
    ("hi", "fork:Both ways", "press:0"),
    (
        "Ship it?",
        "🌱 This conversation now also continues in a second place: [Both ways](at:test:1#t1). Nothing changes here.",
        "🌱 This continues another conversation, from after Ada said “hi”. What is said here stays here. "
        "[Where it began](at:test:1)",
        "Ship it?",
        "answer: Yes",
    ),
    in_order=False,
)

FORKED_ELSEWHERE = Case(
    _COUNTER,
    ("hi", "one", "fork:Another way", f"at:{thread_in_shard(1)}:two", "two instead"),
    (
        "1: one",
        "🌱 This conversation now also continues in a second place: “Another way”. Nothing changes here.",
        "🌱 This continues another conversation, from after Ada said “one”. What is said here stays here.",
        "2: two",
        "2: two instead",
    ),
    in_order=False,
)

FORKING = {"forked": FORKED, "forked_question": FORKED_QUESTION}
