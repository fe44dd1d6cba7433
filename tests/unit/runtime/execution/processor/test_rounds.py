"""Loops that only others can end: they wait for somebody, or say at once that they never will."""

from collections.abc import Mapping, Sequence

import pytest

from tests.fakes.models.answers import Rules
from tests.fakes.people.talk import answered, talking
from tests.language.test_meeting_patterns import Reader
from tests.unit.runtime.execution.processor.walking import answers, compiled, main

NEVER: Rules = {
    "choose: ": "no",
    "say: ": "A joke.",
    "give: ": '{"joke": "A joke."}',
    "execute: ": "await Return()",
}
"""A model for which nothing ever holds."""
ALWAYS: Rules = {**NEVER, "choose: ": "yes"}

CODE = '''
@playbook
async def Recount() -> str:
    """Tells a joke."""
    await Say("user", "Python.")
    return "told"

@playbook
async def Perhaps(n: int) -> str:
    """Asks, but hardly ever."""
    if n > 3:
        await WaitForMessage("user")
    return "told"

@playbook
async def Listen() -> str:
    """Asks."""
    return (await WaitForMessage("user"))[0]["text"]
'''
MORE = """
## Entertain
### Steps
- Tell the user a joke
- If $n is 3
  - Wait for the user
"""

SPINS: Mapping[str, tuple[Rules, Sequence[str]]] = {
    "it only tells": (NEVER, ["- Repeat until the user is happy", "  - Tell the user a joke"]),
    "it tells what it made": (
        NEVER,
        ["- Until the user has laughed", "  - $joke:str = a joke", "  - Tell the user the $joke"],
    ),
    "while there are questions": (ALWAYS, ["- While the user has questions", "  - Answer the question"]),
    "they": (NEVER, ["- Repeat until they are content", "  - Tell the user a joke"]),
    "nothing ends it": (NEVER, ["- Forever", "  - Tell the user a joke"]),
    "a judgement inside would end it": (
        NEVER,
        [
            "- Forever",
            "  - $joke:str = a joke",
            "  - Tell the user the $joke",
            "  - If the user wants to stop",
            "    - Break",
        ],
    ),
    "the wait is under a condition": (
        NEVER,
        [
            "- Repeat until the user is happy",
            "  - Tell the user a joke",
            "  - If $n is 3",
            "    - Ask the user what they think",
        ],
    ),
    "the wait is in an inner loop that is never entered": (
        NEVER,
        [
            "- Repeat until the user is happy",
            "  - Tell the user a joke",
            "  - While $n is 3",
            "    - Wait for the user",
        ],
    ),
    "the inner loop spins": (
        NEVER,
        ["- For each $a in [1, 2, 3, 4]", "  - Repeat until the user is happy", "    - Tell the user a joke"],
    ),
    "a playbook that is called waits for nobody": (NEVER, ["- Repeat until the user is happy", "  - Entertain"]),
    "Python that is called waits for nobody": (NEVER, ["- Repeat until the user is happy", "  - Perhaps(n=1)"]),
    "Python that is called only tells": (NEVER, ["- Repeat until the user is happy", "  - Recount()"]),
    "a jump": (NEVER, ["- Tell the user a joke", "- Go back to step 1 unless the user is happy", '- Say "Bye."']),
    "a jump under a condition": (
        ALWAYS,
        ["- Tell the user a joke", "- If the user wants another one", "  - Go to step 1", '- Say "Bye."'],
    ),
    "nothing changes what is judged": (NEVER, ["- Until the problem is solved", "  - Tell the user a joke"]),
}


@pytest.mark.parametrize("case", SPINS, ids=str)
async def test_a_loop_that_only_others_can_end_says_after_two_rounds_that_it_waits_for_nobody(case: str) -> None:
    rules, steps = SPINS[case]
    model = Reader(rules)
    async with talking(await compiled(main(*steps, code=CODE, more=MORE)), model) as talk:
        said = await talk.say("go")
    assert "without waiting for anybody" in said[-1]
    assert "Let each round wait, such as \u201cWait for the user\u201d" in said[-1]
    assert len(said) <= 4, "two rounds, a third by a jump, and the failure"
    assert [event.data["raised_at"] for event in talk.named("playbook.failed")][-1].startswith("Host: Main:0")


async def test_the_failure_names_the_loop_and_its_line() -> None:
    steps = ("- Set $n to 3", "- Repeat until the user is happy", "  - Tell the user a joke")
    async with talking(await compiled(main(*steps)), Reader(NEVER)) as talk:
        assert (await talk.say("go"))[-1] == (
            "⚠️ Main failed: “Repeat until the user is happy” went round twice without waiting for anybody, and only "
            "others can end it. Let each round wait, such as “Wait for the user”, or say how often it goes "
            "round at most: “…, at most 5 times”. Your next message begins anew."
        )
        assert [event.data["raised_at"] for event in talk.named("playbook.failed")] == ["Host: Main:02:CND"]


@pytest.mark.parametrize(
    "steps",
    [
        ("- While $n < 100", "  - Set $n to $n + 1"),
        ("- Repeat 100 times", "  - Set $n to $n + 1"),
        (
            "- For each $a in range(100)",
            "  - Set $n to $n + 1",
            "  - Forever",
            "    - Break",
        ),
        ("- Forever", "  - Set $n to $n + 1", "  - If $n is 100", "    - Break"),
        ("- Set $n to $n + 1", "- Go back to step 2 if $n < 100"),
    ],
)
async def test_a_loop_that_computes_goes_round_as_often_as_it_says(steps: tuple[str, ...]) -> None:
    assert await answers(main("- Set $n to 0", *steps, '- Say "{n}"', "- End program"), to="go") == ["100"]


async def test_a_loop_with_a_model_for_each_item_waits_for_nobody() -> None:
    steps = ("- For each $a in [1, 2, 3, 4, 5]", "  - Tell the user a joke", "- End program")
    assert await answered(await compiled(main(*steps)), Reader(NEVER), "go") == ["A joke."] * 5


async def test_a_draft_is_made_better_until_a_model_is_content() -> None:
    steps = ("- Until the draft is good", "  - $draft:str = a better draft", '- Say "{draft}"', "- End program")
    drafts = iter(range(1, 10))
    rules = {
        "choose: .*the draft is good": lambda prompt: "yes" if prompt.known("draft") == "draft 7" else "no",
        "give: ": lambda _: f'{{"draft": "draft {next(drafts)}"}}',
    }
    assert await answered(await compiled(main(*steps)), Reader(rules), "go") == ["draft 7"]


async def test_a_model_is_not_asked_for_ever_whether_its_own_work_is_done() -> None:
    steps = ("- Set $n to 0", "- Until the draft is good", "  - Set $n to $n + 1")
    model = Reader(NEVER)
    [said] = await answered(await compiled(main(*steps)), model, "go")
    assert "went round 100 times without waiting for anybody, and a model still says that it goes on" in said
    assert len(model.asked) < 110


@pytest.mark.parametrize(
    "steps",
    [
        ("- Repeat until the user is happy", "  - Tell the user a joke", "  - Wait for the user"),
        ("- Repeat until the user is happy", "  - Tell the user a joke", "  - Listen()"),
        ("- Until the user is happy, at most 5 times", "  - Tell the user a joke"),
    ],
)
async def test_a_loop_that_hears_somebody_or_has_a_limit_goes_on(steps: tuple[str, ...]) -> None:
    program = await compiled(main(*steps, '- Say "Bye."', code=CODE))
    async with talking(program, Reader(NEVER)) as talk:
        said = await talk.say("go")
        for _ in range(4):
            said += await talk.say("No.")
    assert said[:5] == ["A joke."] * 5


async def test_rounds_are_counted_over_a_restart() -> None:
    steps = (
        "- Repeat until the user is happy",
        "  - Tell the user a joke",
        "  - If $n is 0",
        "    - Set $n to 1",
        "    - Wait for the user",
    )
    program = await compiled(main("- Set $n to 0", *steps))
    async with talking(program, Reader(NEVER), idle_s=0.001) as talk:
        assert await talk.say("go") == ["A joke."]
        await talk.rested()
        assert len(await talk.say("go on")) == 3, "two rounds and the failure"
