"""Each construct of a program, walked: the runtime does what is exact alone, and a model is asked for the rest."""

import pytest

from tests.unit.runtime.execution.processor.walking import answers, main, walking

SHOP = '''
@playbook
async def Price(item: str) -> int:
    """What an item costs."""
    return len(item) * 10

@playbook
async def Pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"
'''


async def test_a_program_of_exact_steps_asks_no_model() -> None:
    steps = ("- Set $n to 3", "- $price:int = Price('tea')", '- Say "{n} cost {n * price}"', "- End program")
    async with walking(main(*steps, code=SHOP)) as walk:
        assert await walk.say("hi") == ["3 cost 90"]
        assert walk.model.asked == []
        assert walk.called == [("Price", {"item": "tea"})]


async def test_words_are_asked_for_and_questions_share_a_reply() -> None:
    steps = ("- Greet the user", "- Set $n to 3", "- Tell the user that there are $n", "- End program")
    async with walking(main(*steps), "[1] Hello!\n[2] There are {n}.") as walk:
        assert await walk.say("hi") == ["Hello!", "There are 3."]
        assert (
            "[2] Write the next message to the person. It must do this: Tell the user that there are $n (now 3)"
            in walk.asked()
        )


@pytest.mark.parametrize(
    ("kind", "said", "value"), [("int", "7", 7), ("float", "7,5", 7.5), ("str", "A-12", "A-12"), ("int", "-3", -3)]
)
async def test_a_bare_number_or_code_is_taken_without_a_model(kind: str, said: str, value: object) -> None:
    steps = (f"- Ask the user for $n:{kind}", '- Say "It is {n}"', "- End program")
    async with walking(main(*steps), "Which?") as walk:
        assert await walk.say("hi") == ["Which?"]
        assert await walk.say(said) == [f"It is {value}"]
        assert walk.values["n"] == value
        assert len(walk.model.asked) == 1


async def test_values_in_words_are_understood_and_what_is_missing_is_asked_again() -> None:
    steps = ("- Ask the user for their $name:str and $age:int", '- Say "{name}, {age}"', "- End program")
    replies = (
        "Who are you?",
        '{"does": "answer", "name": "Ada", "age": null}',
        "And how old?",
        '{"does": "answer", "name": null, "age": "36"}',
    )
    async with walking(main(*steps), *replies) as walk:
        assert await walk.say("hi") == ["Who are you?"]
        assert await walk.say("I am Ada") == ["And how old?"]
        assert await walk.say("36 years") == ["Ada, 36"]


@pytest.mark.parametrize(("n", "said"), [(9, "large"), (5, "middling"), (3, "odd"), (2, "small")])
async def test_an_exact_branch_is_the_runtimes(n: int, said: str) -> None:
    steps = (
        f"- Set $n to {n}",
        "- If $n is at least 8",
        '  - Say "large"',
        "- Otherwise, if $n is between 4 and 7",
        '  - Say "middling"',
        "- Else if $n is odd",
        '  - Say "odd"',
        "- Otherwise",
        '  - Say "small"',
        "- End program",
    )
    assert await answers(main(*steps)) == [said]


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        (("[1] yes\n[2] You are welcome!\n[3] Never mind",), ["You are welcome!"]),
        (("[1] no\n[2] You are welcome!\n[3] Never mind",), ["Never mind"]),
        (("[1] yes", "You are welcome!"), ["You are welcome!"]),
        (("[1] no\n[3] Never mind",), ["Never mind"]),
    ],
)
async def test_a_branch_in_words_is_decided_by_the_model_and_only_its_side_is_said(
    replies: tuple[str, ...], said: list[str]
) -> None:
    steps = (
        "- If the user is polite",
        "  - Welcome the user",
        "- Otherwise",
        "  - Tell the user off",
        "- End program",
    )
    async with walking(main(*steps), *replies) as walk:
        assert await walk.say("hello, please") == said
        assert walk.model.left == 0


async def test_loops_over_lists_counts_and_conditions_are_the_runtimes() -> None:
    steps = (
        '- Set $items to ["tea", "jam"]',
        "- Set $n to 0",
        "- For each $item in $items",
        "  - Repeat 2 times",
        "    - Set $n to $n + 1",
        '    - Say "{item} {n}"',
        "- While $n < 6",
        "  - Set $n to $n + 1",
        "- Until $n is 8",
        "  - Increase $n by 1",
        '- Say "{n}"',
        "- End program",
    )
    assert await answers(main(*steps)) == ["tea 1", "tea 2", "jam 3", "jam 4", "8"]


async def test_a_loop_over_a_text_goes_through_what_its_noun_means_and_not_its_letters() -> None:
    steps = (
        '- Set $outline to "Tea, then jam"',
        '- Set $word to "ab"',
        "- For each chapter of $outline",
        '  - Say "{chapter}"',
        "- For each letter of $word",
        '  - Say "{letter}"',
        "- End program",
    )
    assert await answers(main(*steps), '["Tea", "jam"]') == ["Tea", "jam", "a", "b"]


async def test_the_ways_out_of_loops_and_jumps() -> None:
    steps = (
        "- Set $rounds to 0",
        "- Set $rounds to $rounds + 1",
        "- For each $n in [1, 2, 3, 4, 5]",
        "  - If $n is even",
        "    - Continue with the next item",
        "  - If $n is 5",
        "    - Break",
        '  - Say "{rounds}.{n}"',
        "- If $rounds < 2",
        "  - Go back to step 2",
        "- End program",
    )
    assert await answers(main(*steps)) == ["1.1", "1.3", "2.1", "2.3"]


async def test_a_loop_in_words_goes_round_until_the_model_says_so() -> None:
    steps = ("- While the user has questions", "  - Answer the user", '- Say "Bye"', "- End program")
    assert await answers(main(*steps), "[1] yes\n[2] So it is.", "[1] no", to="why?") == ["So it is.", "Bye"]


async def test_an_empty_list_and_a_count_of_nothing_are_no_rounds() -> None:
    steps = (
        "- Set $n to 0",
        "- For each $x in []",
        '  - Say "x"',
        "- Repeat $n times",
        '  - Say "n"',
        '- Say "done"',
        "- End program",
    )
    assert await answers(main(*steps)) == ["done"]


async def test_a_loop_without_an_end_is_stopped() -> None:
    async with walking(main("- Set $n to 0", "- While $n is 0", "  - Set $m to 1")) as walk:
        [said] = await walk.say("hi")
        assert "Main" in said
        assert len(walk.steps) > 9_000


async def test_arguments_in_words_are_asked_for_and_held_to_their_types() -> None:
    steps = ("- $paid:str = Pay(what the user offers)", '- Say "{paid}"', "- End program")
    async with walking(main(*steps, code=SHOP), '{"amount": "lots"}', '{"amount": "5"}') as walk:
        assert await walk.say("I offer 5") == ["paid 5"]
        assert walk.called == [("Pay", {"amount": 5})]
        assert "amount is declared int" in walk.asked()


async def test_calls_inside_of_expressions_are_made_once_each_from_inside_out() -> None:
    steps = ("- If Price('tea') + Price('ab') > 40", "  - Say \"{Pay(Price('abc'))}\"", "- End program")
    async with walking(main(*steps, code=SHOP), after="hi") as walk:
        assert walk.called[:2] == [("Price", {"item": "tea"}), ("Price", {"item": "ab"})]


async def test_a_call_in_words_is_made_before_its_result_is_returned() -> None:
    more = """
    ## Buy() -> str
    ### Steps
    - Return Pay(what the user offers)
    """
    async with walking(main("- $got:str = Buy()", '- Say "{got}"', "- End program", code=SHOP, more=more), "7") as walk:
        assert await walk.say("I offer 7") == ["paid 7"]
        assert [name for name, _ in walk.called] == ["Buy", "Pay"]


TYPED = """
## Count() -> int
### Steps
- Return how many there are
"""


async def test_a_result_is_held_to_its_type() -> None:
    steps = ("- $n:int = Count()", '- Say "{n}"', "- End program")
    assert await answers(main(*steps, more=TYPED), "many", '{"result": "12"}', to="a dozen") == ["12"]


async def test_an_exact_result_of_another_type_is_a_failure() -> None:
    more = TYPED.replace("how many there are", '"many"')
    async with walking(main("- $n:int = Count()", '- Say "{n}"', more=more)) as walk:
        [said] = await walk.say("hi")
        assert "many" not in walk.values.values()
        assert "failed: " in said


async def test_a_value_that_is_set_is_held_to_its_type() -> None:
    steps = ("- Extract the $total:int from what was said", '- Say "{total + 1}"', "- End program")
    assert await answers(main(*steps), "ten", '{"total": 10}', to="ten, please") == ["11"]


async def test_a_thought_is_seen_by_nobody_and_told_to_the_next_question() -> None:
    async with walking(
        main("- Think about a plan", "- Tell the user the plan", "- End program"), "[1] Tea first.\n[2] Tea!"
    ) as walk:
        assert await walk.say("hi") == ["Tea!"]


async def test_a_playbook_without_steps_answers_in_plain_words() -> None:
    text = "# Host\n\n## Main\nTalk about tea.\n\n### Triggers\n- At the beginning\n"
    async with walking(text, "Hello! Tea?", "Gladly.") as walk:
        assert await walk.say("hi") == ["Hello! Tea?"]
        assert await walk.say("yes") == ["Gladly."]


async def test_a_raw_playbook_gives_what_the_model_wrote() -> None:
    more = """
    ## Rhyme($word)
    execution_mode: raw

    Find a rhyme for {word}. Write only the rhyme.
    """
    async with walking(main('- $rhyme = Rhyme("tea")', '- Say "{rhyme}"', "- End program", more=more), "sea") as walk:
        assert await walk.say("hi") == ["sea"]


async def test_a_free_step_talks_for_several_turns_and_control_goes_on_behind_it() -> None:
    steps = ("- Sort out which wine the user likes, and remember it", '- Say "Noted"', "- End program")
    replies = ('```python\nawait Say("user", "Red or white?")\nawait Yld("user")\n```', '```python\nwine = "red"\n```')
    async with walking(main(*steps), *replies) as walk:
        assert await walk.say("hi") == ["Red or white?"]
        assert await walk.say("red") == ["Noted"]
        assert walk.steps == ["01", "02", "03"]


async def test_the_first_steps_hear_what_the_person_began_with() -> None:
    steps = main("- Greet the user", "- End program")
    async with walking(steps, "Good evening!", after="good evening, a table for two") as walk:
        assert "good evening, a table for two" in "".join(message.content for message in walk.model.asked[0])


PRICED = '''
@playbook
async def Price(item: str) -> int:
    """What an item costs."""
    return len(item)
'''


async def test_an_argument_may_name_a_parameter_of_the_playbook_bare() -> None:
    more = "## Offer($item)\n### Steps\n- $price:int = Price(item=item)\n- Return $price\n"
    steps = main('- $offer:int = Offer("teapot")', '- Say "{offer}"', "- End program", more=more, code=PRICED)
    async with walking(steps) as walk:
        assert await walk.say("hi") == ["6"]
        assert walk.called[-1] == ("Price", {"item": "teapot"})
