"""What the words of a step name of the agent's own Python."""

import pytest

from tests.fakes.crashes.world import World
from tests.unit.runtime.execution.processor.walking import answers, main, walking

SHOP = '''
from datetime import date
from itertools import count

PRICES = {"tea": 3}
counted = count(1)

def twice(n):
    return 2 * n

@playbook
async def Price(item: str) -> int:
    """What an item costs."""
    return PRICES[item]
'''


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("{date(2026, 5, 1):%Y}", "2026"),
        ("{date(2026, 5, 1)} and {n}", "2026-05-01 and 4"),
        ("{twice(n)}, {twice($n):.2f}", "8, 8.00"),
        ("{PRICES['tea']}", "3"),
        ("{twice(Price('tea'))} or {Price('tea')}", "6 or 3"),
        ("{agent.klass}", "Host"),
    ],
)
async def test_exact_words_may_name_what_the_fence_defines(words: str, said: str) -> None:
    steps = ("- Set $n to 4", f'- Say "{words}"', "- End program")
    async with walking(main(*steps, code=SHOP)) as walk:
        assert await walk.say("hi") == [said]
        assert walk.model.asked == []


async def test_a_question_may_name_it_too() -> None:
    steps = ('- 01:QUE Say(user, "{twice(2)} or what?"); YLD for user', "- 02:YLD for exit")
    assert await answers(main(*steps, code=SHOP)) == ["4 or what?"]


async def test_a_name_that_nobody_has_is_left_to_the_model() -> None:
    steps = ('- Say "It is {time.today():%Y}"', "- End program")
    async with walking(main(*steps, code=SHOP), "It is 2026") as walk:
        assert await walk.say("hi") == ["It is 2026"]
        assert 'say exactly "It is {time.today():%Y}"' in walk.asked()


async def test_python_that_fails_in_words_fails_the_step() -> None:
    async with walking(main("- Say \"{PRICES['jam']}\"", code=SHOP)) as walk:
        [said] = await walk.say("hi")
        assert "Main failed" in said
        assert "jam" in said


async def test_what_it_came_to_is_said_again_after_a_restart() -> None:
    steps = ('- 01:QUE Say(user, "Number {next(counted)}?"); YLD for user', '- 02:QUE Say(user, "{next(counted)}")')
    text, world = main(*steps, "- 03:YLD for exit", code=SHOP), World(())
    async with walking(text, world=world) as walk:
        assert await walk.say("hi") == ["Number 1?"]
    async with walking(text, world=world) as walk:
        assert await walk.say("yes") == ["1"]
        assert walk.talk.chat == ["Number 1?", "1"]
