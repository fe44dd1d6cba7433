"""Programs for the crash rig that the runtime walks: each kind of step and of question, each small."""

from tests.unit.runtime.sessions.crashes.crash_case import Case
from tests.unit.runtime.sessions.programs import agent, program, python, walked

SHOP = """
async def Price(item):
    return len(item) * 10

async def Pay(amount):
    await Var("paid", amount)
    return f"paid {amount}"
"""

WORDS = Case(
    program(
        agent(
            "Words",
            walked(
                "Main",
                "01:QUE Say(user, Greet the user)",
                "02:EXE $n:int = the number that was named",
                "03:QUE Say(user, Tell the user the number)",
                '04:QUE Say(user, "It is {n}")',
                "05:YLD for exit",
                begins=True,
            ),
        )
    ),
    ("seven, please",),
    ("Good morning to you, dear guest!", "The number that you named is 7", "It is 7"),
    told=(
        ("Greet", "", "Good morning to you, dear guest!"),
        ("Give \\$n", "", '{"n": 7}'),
        ("Tell the user the number", "", "The number that you named is {n}"),
    ),
)

RIVER = (
    "The river rises in the hills behind the old mill, and from there it flows down to the sea, which it reaches after "
    "nine days, if the summer was wet enough and nobody has closed the weir."
)
SEA = "The sea is wide, and it is cold in winter; who swims there in May is brave, or comes from further north than we."

BROKEN_OFF = Case(
    program(
        agent(
            "River",
            walked(
                "Main",
                "01:QUE Say(user, Tell the user about the river)",
                "02:QUE Say(user, Tell the user about the sea)",
                "03:YLD for exit",
                begins=True,
            ),
        )
    ),
    ("tell me",),
    (RIVER, SEA),
    told=(("about the river", "", RIVER), ("about the sea", "", SEA)),
    piece_s=0.4,
)

ASKS = (
    "01:QUE Say(user, Ask for their $name:str); YLD for user; done when the user gave $name",
    '02:QUE Say(user, "{name}!")',
    "03:QUE Say(user, Ask for their $town:str); YLD for user; done when the user gave $town",
    '04:QUE Say(user, "{name} of {town}")',
    "05:YLD for exit",
)

UNDERSTOOD = (
    (r"was asked: Ask for their \$?name", "why", '{"does": "other"}'),
    (r"was asked: Ask for their \$?name", "weather", '{"does": "Weather"}'),
    (r"was asked: Ask for their \$?name", "Ada", '{"does": "answer", "name": "Ada"}'),
    ("was asked: ", "Eva", '{"does": "correct", "name": "Eva"}'),
    ("was asked: ", "Rome", '{"does": "answer", "town": "Rome"}'),
    ("was asked: ", "forget", '{"does": "cancel"}'),
    ("Come back to what was asked", "", "So who are you?"),
    ("Write a reply to the person", "forget", "As you like."),
    ("Write a reply to the person", "", "For the form. Who are you?"),
    (r"Ask for their \$?name", "", "Who are you?"),
    (r"Ask for their \$?town", "", "And where do you live?"),
)

TALK = Case(
    program(agent("Talk", walked("Main", *ASKS, begins=True))),
    ("hi", "why?", "I am Ada", "no, Eva", "in Rome"),
    (
        "Who are you?",
        "For the form. Who are you?",
        "Ada!",
        "And where do you live?",
        "Eva!",
        "And where do you live?",
        "Eva of Rome",
    ),
    told=UNDERSTOOD,
)

TRIGGERED = Case(
    program(
        agent(
            "Talk",
            walked("Main", *ASKS, begins=True),
            walked(
                "Weather",
                "01:QUE $day = Today()",
                '02:QUE Say(user, "It rains on {day}")',
                trigger="EVT When the user asks about the weather",
            ),
            python("Today"),
            code="async def Today():\n    return 'Monday'\n",
        )
    ),
    ("hi", "the weather?", "I am Ada", "in Rome"),
    ("Who are you?", "It rains on Monday", "So who are you?", "Ada!", "And where do you live?", "Ada of Rome"),
    told=UNDERSTOOD,
    calls=("Weather()", "Today()"),
)

CANCELLED = Case(
    program(agent("Talk", walked("Main", *ASKS, begins=True))),
    ("hi", "I am Ada", "forget it"),
    ("Who are you?", "Ada!", "And where do you live?", "As you like."),
    told=UNDERSTOOD,
)

REPEATED = Case(
    program(
        agent(
            "Talk",
            walked(
                "Main",
                '01:QUE Say(user, "Come in!")',
                "02:QUE Say(user, Ask for their $name:str); YLD for user; done when the user gave $name",
                '03:QUE Say(user, "{name}!")',
                "04:YLD for exit",
                begins=True,
            ),
        )
    ),
    ("hi", "pardon?", "why?", "pardon?", "I am Ada"),
    (
        "Come in!",
        "Who are you?",
        "Come in!\n\nWho are you?",
        "For the form. Who are you?",
        "For the form. Who are you?",
        "Ada!",
    ),
    told=((r"was asked: Ask for their \$?name", "pardon", '{"does": "repeat"}'), *UNDERSTOOD),
)

LOOPS = Case(
    program(
        agent(
            "Loops",
            walked(
                "Main",
                "01:EXE $total:int = 0",
                '02:CND For each $item in ["tea", "jam"]',
                "02.01:QUE $price:int = Price($item)",
                "02.02:EXE $total = $total + $price",
                '02.03:QUE Say(user, "{item} costs {price}")',
                "02.04:JMP 02",
                "03:QUE $done = Buy()",
                '04:QUE Say(user, "{done}")',
                "05:YLD for exit",
                begins=True,
            ),
            walked("Buy", "01:CND If the user can pay", "01.01:RET Pay($total)", "02:RET nothing", returns="str"),
            python("Price", "item"),
            python("Pay", "amount"),
            code=SHOP,
        )
    ),
    ("buy!",),
    ("tea costs 30", "jam costs 30", "paid 60"),
    told=(("the user can pay", "", "yes"), ("The result", "", "nothing")),
    calls=("Price(item=tea)", "Price(item=jam)", "Buy()", "Pay(amount=60)"),
)

FREE = Case(
    program(
        agent(
            "Free",
            walked(
                "Main",
                '01:QUE Say(user, "Welcome")',
                "02:EXE Help the user choose a wine",
                '03:QUE Say(user, "Enjoy the {wine}")',
                "04:YLD for exit",
                begins=True,
            ),
        )
    ),
    ("hi", "red"),
    ("Welcome", "Red or white?", "Enjoy the red"),
    reacts={
        "Main": {
            "red": ('await Var("wine", "red")', "await Return()"),
            "": ('await Say("user", "Red or white?")', 'await Yld("user")'),
        }
    },
)

GUEST = """
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"].startswith("What do you"):
                await Say("meeting", "I suggest tea")
            if message["text"].startswith("Meeting has ended"):
                return None
"""

MEETING = Case(
    program(
        agent(
            "Host",
            walked(
                "Main", "01:QUE $idea = Talk()", '02:QUE Say(user, "So it is: {idea}")', "03:YLD for exit", begins=True
            ),
            walked(
                "Talk",
                "01:QUE Say(meeting, Ask for suggestions); YLD for meeting",
                "02:EXE $idea:str = what Guest suggests",
                '03:QUE Say(meeting, "We take {idea}")',
                "04:QUE EndMeeting()",
                "05:RET $idea",
                meeting=True,
                required_attendees=["Guest"],
            ),
        ),
        agent("Guest", python("Join", meeting=True), code=GUEST),
    ),
    ("go",),
    ("What do you suggest?", "I suggest tea", "We take tea", "So it is: tea"),
    told=(("Ask for suggestions", "", "What do you suggest?"), ("what Guest suggests", "", '{"idea": "tea"}')),
)

WALKING = {
    "walked_words": WORDS,
    "broken_off": BROKEN_OFF,
    "walked_talk": TALK,
    "walked_trigger": TRIGGERED,
    "walked_cancel": CANCELLED,
    "walked_repeat": REPEATED,
    "walked_loops": LOOPS,
    "walked_free": FREE,
    "walked_meeting": MEETING,
}
