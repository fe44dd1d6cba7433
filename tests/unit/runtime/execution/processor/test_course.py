"""Where control goes: nested loops, jumps over several levels, failures of calls, triggers on what has changed."""

import pytest

from tests.unit.runtime.execution.processor.walking import answers, main, walking


async def test_break_and_continue_are_about_the_innermost_loop() -> None:
    steps = (
        "- For each $a in [1, 2]",
        "  - For each $b in [1, 2, 3]",
        "    - If $b is 1",
        "      - Continue with the next item",
        "    - If $b is 3",
        "      - Break",
        '    - Say "{a}{b}"',
        '  - Say "end of {a}"',
        "- End program",
    )
    assert await answers(main(*steps)) == ["12", "end of 1", "22", "end of 2"]


async def test_a_jump_out_of_nested_loops_leaves_them_and_they_begin_again() -> None:
    steps = (
        "- Set $tries to 0",
        "- Set $tries to $tries + 1",
        "- For each $a in [1, 2]",
        "  - Repeat 2 times",
        '    - Say "{tries}.{a}"',
        "    - If $tries < 2",
        "      - Go back to step 2",
        "- End program",
    )
    assert await answers(main(*steps)) == ["1.1", "2.1", "2.1", "2.2", "2.2"]


async def test_items_are_those_of_the_beginning_of_a_loop() -> None:
    steps = (
        "- Set $items to [1, 2]",
        "- For each $item in $items",
        "  - Set $items to $items + [9]",
        '  - Say "{item}"',
        "- End program",
    )
    assert await answers(main(*steps)) == ["1", "2"]


async def test_a_loop_with_a_limit_ends_there() -> None:
    steps = ("- Set $n to 0", "- While $n is 0, at most 3 times", '  - Say "again"', '- Say "enough"', "- End program")
    assert await answers(main(*steps)) == ["again", "again", "again", "enough"]


@pytest.mark.parametrize("items", ["5", "true", "$nothing"])
async def test_what_is_no_list_is_an_error_and_no_empty_list(items: str) -> None:
    steps = (f"- Set $items to {items}", "- For each $item in $items", '  - Say "{item}"')
    async with walking(main(*steps)) as walk:
        [said] = await walk.say("hi")
        assert "failed: " in said


@pytest.mark.parametrize("times", ['"many"', 'float("inf")', "[1]"])
async def test_a_count_that_is_no_number_is_an_error(times: str) -> None:
    steps = (f"- Set $n to {times}", "- Repeat $n times", '  - Say "again"')
    async with walking(main(*steps)) as walk:
        [said] = await walk.say("hi")
        assert said.startswith("⚠️ Main failed: ")


FAILS = '''
@playbook
async def Fetch(name: str) -> str:
    """Fails."""
    raise ValueError(f"{name} is away")
'''


async def test_a_call_that_fails_ends_the_playbook_where_the_program_does_not_say_what_to_do() -> None:
    steps = ('- $got:str = Fetch("it")', '- Say "got it"')
    async with walking(main(*steps, code=FAILS)) as walk:
        [said] = await walk.say("hi")
        assert "it is away" in said
        assert walk.steps == ["01"]


async def test_a_call_that_fails_is_dealt_with_where_the_program_says_so() -> None:
    steps = (
        '- $got:str = Fetch("it")',
        "- If it failed",
        '  - Say "not today"',
        "- Otherwise",
        '  - Say "got it"',
        "- End program",
    )
    async with walking(main(*steps, code=FAILS), "yes") as walk:
        assert await walk.say("hi") == ["not today"]
        assert "Fetch failed: " in "".join(message.content for message in walk.model.asked[0])
        assert walk.values["got"] is None


DISCOUNT = """
## Discount
### Triggers
- When $total > 100
### Steps
- Say "You get a discount."

## Cheer
### Triggers
- When the guest becomes happy
### Steps
- Say "Hurray!"
"""


async def test_triggers_on_what_has_changed_are_computed_or_judged() -> None:
    steps = ("- Set $total to 50", "- Set $total to 150", '- Say "{total}"', "- End program")
    async with walking(main(*steps, more=DISCOUNT), "none", "Cheer") as walk:
        assert await walk.say("hi") == ["You get a discount.", "Hurray!", "150"]
        assert walk.called == [("Discount", {}), ("Cheer", {})]


MOODS = """
## Shipped
### Triggers
- When $status becomes shipped
### Steps
- Say "On its way."

## Calm
### Triggers
- When $mood is angry
### Steps
- Say "Sorry!"

## Even
### Triggers
- When $n is even
### Steps
- Say "Even."
"""


async def test_a_word_without_a_mark_is_judged_by_the_model_when_its_variable_changes() -> None:
    steps = ('- Set $status to "sent off"', "- Set $n to 4", '- Set $mood to "furious"', "- End program")
    async with walking(main(*steps, more=MOODS), "Shipped", "Calm") as walk:
        assert await walk.say("hi") == ["On its way.", "Even.", "Sorry!"]
        assert "Calm" not in walk.asked(0)
        assert "Shipped" not in walk.asked(1)


async def test_an_agent_that_is_asked_answers_and_control_goes_on() -> None:
    text = main(
        "- Ask Pricing for the price",
        "- $price:int = the price that Pricing named",
        '- Say "{price}"',
        "- End program",
        more="""
        # Pricing
        ## Answer
        ### Triggers
        - When a message comes from Host
        ### Steps
        - Say(Host, "It is 12")
        """,
    )
    assert (await answers(text, "What is the price?", '{"price": 12}'))[-1] == "12"
