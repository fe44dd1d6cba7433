"""Programs for the crash rig whose steps the runtime walks: each kind of question, and exact steps between them."""

from msgspec.structs import replace

from runtime.language.program import Param
from tests.unit.runtime.sessions.crashes.crash_case import Answer, Case
from tests.unit.runtime.sessions.programs import agent, program, python, triggers, walked

ERRAND = Case(
    program(
        agent(
            "Shop",
            walked(
                "Main",
                "01:QUE Say(user, Welcome the user and ask for their $name:str); YLD for user; "
                "done when the user gave $name",
                "02:EXE $price:int = Price(count=3)",
                "03:QUE Say(user, Tell the user that it costs $price)",
                "04:CND If the user is in a hurry",
                '04.01:QUE Say(user, "Quick, {name}!")',
                '05:LOP For each $part in ["bread", "milk"]',
                '05.01:QUE Say(user, "{part} is in it.")',
                "06:EXE $mood:str = the mood of the user in one word",
                "07:EXE $line:str = Rhyme(mood=$mood)",
                "08:QUE Say(user, Say goodbye with $line)",
                "09:YLD for exit",
                begins=True,
            ),
            walked(
                "Rhyme",
                "01:QUE Say(user, Tell the user that you think of a rhyme)",
                '02:RET "to " + $mood',
                params=(Param("mood", type="str"),),
            ),
            python("Price", "count"),
            code="""
async def Price(count):
    await Say("user", f"counting {count}")
    return count * 7
""",
        )
    ),
    ("hi", "I am Ada"),
    (
        "Welcome! What is your name?",
        "counting 3",
        "It costs 21.",
        "Quick, Ada!",
        "bread is in it.",
        "milk is in it.",
        "I think of a rhyme.",
        "Goodbye to cheerful.",
    ),
    answers=(
        Answer("asked", '{"does": "answer", "name": "Ada"}'),
        Answer("Welcome the user", "Welcome! What is your name?"),
        Answer("it costs", "It costs {price}."),
        Answer("hurry", "yes"),
        Answer("mood of the user", '{"mood": "cheerful"}'),
        Answer("think of a rhyme", "I think of a rhyme."),
        Answer("Say goodbye", "Goodbye {line}."),
    ),
)

ASIDES = Case(
    program(
        agent(
            "Tailor",
            walked(
                "Main",
                "01:QUE Say(user, Ask for the $size:int); YLD for user; done when the user gave $size",
                "02:QUE Say(user, Ask for the $colour:str); YLD for user; done when the user gave $colour",
                '03:QUE Say(user, "Size {size} in {colour}.")',
                "04:YLD for exit",
                begins=True,
            ),
            replace(
                walked("Hours", '01:QUE Say(user, "From 9 to 5.")'),
                triggers=triggers("EVT When the user asks for the opening hours"),
            ),
        )
    ),
    ("hi", "what sizes are there?", "when are you open?", "size four", "no, five", "red please"),
    (
        "Which size?",
        "There are four and five. Which one?",
        "From 9 to 5.",
        "Which size was it?",
        "Which colour?",
        "Five then. Which colour?",
        "Size 5 in red.",
    ),
    answers=(
        Answer("come back, in a few", "Five then. Which colour?", heard="no, five"),
        Answer("come back, in a few", "There are four and five. Which one?"),
        Answer("Come back to what", "Which size was it?"),
        Answer("asked", '{"does": "other"}', heard="what sizes"),
        Answer("asked", '{"does": "Hours"}', heard="open"),
        Answer("asked", '{"does": "answer", "size": 4}', heard="four"),
        Answer("asked", '{"does": "correct", "size": 5}', heard="five"),
        Answer("asked", '{"does": "answer", "colour": "red"}', heard="red"),
        Answer("colour", "Which colour?"),
        Answer("size", "Which size?"),
    ),
)

CELLAR = Case(
    program(
        agent(
            "Cellar",
            walked(
                "Main",
                '01:QUE Say(user, "I have four wines.")',
                "02:QUE Help the user choose a wine",
                "03:EXE $taste:str = the taste of the wine in one word",
                '04:QUE Say(user, "A {taste} {wine}.")',
                "05:QUE Say(Waiter, Ask for a glass); YLD for agent",
                '06:QUE Say(user, "The glass is here.")',
                "07:YLD for exit",
                begins=True,
            ),
            replace(
                walked("Odd", '01:QUE Say(user, "That is odd.")'),
                triggers=triggers("CND When the taste of the wine is strange"),
            ),
        ),
        agent(
            "Waiter",
            python("Answer", "messages", trigger="EVT When asked"),
            code='async def Answer(messages):\n    await Say("Cellar", "Here you are.")\n',
        ),
    ),
    ("hi", "white please"),
    (
        "I have four wines.",
        "Red or white?",
        "Riesling then.",
        "That is odd.",
        "A salty Riesling.",
        "The glass is here.",
    ),
    reacts={
        "Main": {
            "white": ('await Var("wine", "Riesling")', 'await Say("user", f"{wine} then.")'),
            "": ('await Say("user", "Red or white?")', 'await Yld("user")'),
        }
    },
    answers=(
        Answer("Which of these", "Odd"),
        Answer("the taste of the wine", '{"taste": "salty"}'),
        Answer("Ask for a glass", "A glass, please."),
    ),
)

SMALL = Case(
    program(
        agent(
            "Shop",
            walked(
                "Main",
                "01:QUE Say(user, Ask for the $size:int); YLD for user; done when the user gave $size",
                '02:QUE Say(user, "Size {size}.")',
                begins=True,
            ),
            replace(
                walked("Order", '01:QUE Say(user, "Ordered: {tea}.")', params=(Param("tea", type="str"),)),
                triggers=triggers("EVT When the user orders something"),
            ),
        )
    ),
    ("hi", "why?", "size four", "green tea please", "thanks"),
    ("Which size?", "To find it.", "Which size?", "Size 4.", "Ordered: green tea.", "You are welcome."),
    answers=(
        Answer("Answer this in your role", "To find it."),
        Answer("From this give tea", '{"tea": "green tea"}'),
        Answer("From this give size", '{"size": null}', heard="why"),
        Answer("From this give size", '{"size": 4}'),
        Answer("Is this so", "no"),
        Answer("Which of these fits", '{"answer": "Order"}', heard="tea"),
        Answer("Which of these fits", '{"answer": "none"}'),
        Answer("Which of these is it", '{"answer": "question"}'),
        Answer("Write a reply to this", "You are welcome."),
        Answer("size", "Which size?"),
    ),
    alone=True,
)

REFUSED = Case(
    program(
        agent(
            "Shop",
            walked(
                "Main",
                "01:QUE Say(user, Ask for the $tea:str); YLD for user; done when the user gave $tea",
                "02:QUE Say(user, Ask for the $size:int of it); YLD for user; done when the user gave $size",
                "03:QUE $weighed:str = Weigh(size=$size)",
                '04:QUE Say(user, "{weighed} of {tea}.")',
                "05:YLD for exit",
                begins=True,
            ),
            replace(python("Weigh"), params=(Param("size", type="int"),)),
            code='async def Weigh(size: int) -> str:\n    return f"{size} bags"\n',
        )
    ),
    ("hi", "black tea", "none of your business", "Sorry, green tea", "size four"),
    (
        "Which tea?",
        "Which size of black tea?",
        "I need a size.",
        "Which size of black tea?",
        "Green tea then.",
        "Which size of green tea?",
        "4 bags of green.",
    ),
    answers=(
        Answer("From this give tea", '{"tea": "black"}', heard="black"),
        Answer("From this give size", '{"size": 4}', heard="four"),
        Answer("From this give size", '{"size": null}'),
        Answer("From this give tea", '{"tea": "green"}'),
        Answer("Which of these is it", '{"answer": "skip"}', heard="business"),
        Answer("Which of these is it", '{"answer": "correct"}'),
        Answer("you need their size", "I need a size."),
        Answer("Confirm that tea is green", "Green tea then."),
        Answer("the size", "Which size of green tea?", heard="green"),
        Answer("the size", "Which size of black tea?"),
        Answer("tea", "Which tea?"),
    ),
    alone=True,
)

WALKED = {"errand": ERRAND, "asides": ASIDES, "cellar": CELLAR, "small": SMALL, "refused": REFUSED}
