"""Calls that stand in words: the runtime makes them, and a model is told what they gave."""

import pytest

from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Reply, talking
from tests.unit.runtime.execution.processor.walking import main, walking
from tests.unit.runtime.sessions.programs import agent, program, python, walked

WEATHER = '''
@playbook
async def GetWeather(city: str) -> str:
    """The weather."""
    return f"sunny in {city}"
'''

CALLED = [("GetWeather", {"city": "Rome"})]

TOLD = 'GetWeather (which gave "sunny in Rome")'


async def test_exact_words_may_hold_a_call() -> None:
    steps = ('- Set $city to "Rome"', '- Say "It is {GetWeather($city)}."', "- End program")
    async with walking(main(*steps, code=WEATHER)) as walk:
        assert await walk.say("hi") == ["It is sunny in Rome."]
        assert walk.called == CALLED
        assert walk.model.asked == []


@pytest.mark.parametrize(
    ("step", "reply", "asked"),
    [
        ("Tell the user what GetWeather($city) says", "Sun!", f"Tell the user what {TOLD} says"),
        ("Tell the user that it is {GetWeather($city)}", "Sun!", 'Tell the user that it is "sunny in Rome"'),
        ("If GetWeather($city) is nice\n  - Say nothing", "no", f'"{TOLD} is nice"'),
        ("Compute $w:str as a summary of GetWeather($city)", '"sun"', f"a summary of {TOLD}"),
    ],
)
async def test_a_model_is_told_what_the_call_gave(step: str, reply: str, asked: str) -> None:
    steps = ('- Set $city to "Rome"', f"- {step}", "- End program")
    async with walking(main(*steps, code=WEATHER), reply, after="hi") as walk:
        assert walk.called == CALLED
        assert asked in walk.asked()
        assert len(walk.model.asked) == 1


async def test_nothing_behind_a_call_is_asked_before_it_was_made() -> None:
    steps = (
        "- Greet the user",
        '- Set $city to "Rome"',
        "- Tell the user what GetWeather($city) says",
        "- End program",
    )
    async with walking(main(*steps, code=WEATHER), "Hello!", "Sun!") as walk:
        assert await walk.say("hi") == ["Hello!", "Sun!"]
        assert "GetWeather" not in walk.asked(0)
        assert TOLD in walk.asked(1)


async def test_each_round_of_a_loop_asks_anew_what_the_call_gives() -> None:
    steps = ('- Set $city to "Rome"', "- While GetWeather($city) is dull", "  - Set $n to 1", "- End program")
    async with walking(main(*steps, code=WEATHER), "yes", "yes", "no", after="hi") as walk:
        assert walk.called == CALLED * 3


@pytest.mark.parametrize("call", ["Oracle($city)", "GetWeather($town)"])
async def test_a_call_of_no_playbook_or_with_no_value_stays_words(call: str) -> None:
    steps = ('- Set $city to "Rome"', f"- Tell the user what {call} says", "- End program")
    async with walking(main(*steps, code=WEATHER), "Who knows?") as walk:
        assert await walk.say("hi") == ["Who knows?"]
        assert walk.called == []


async def test_a_call_in_words_is_made_once_over_a_restart() -> None:
    asks = "Say(user, Ask for their $name:str, and say what {GetWeather('Rome')} means); YLD for user"
    steps = (f"01:QUE {asks}; done when the user gave $name", '02:QUE Say(user, "{name}")', "03:YLD for exit")
    fetch = "async def GetWeather(city):\n    return f'sunny in {city}'\n"
    host = agent("Host", walked("Main", *steps, begins=True), python("GetWeather", "city"), code=fetch)
    world = World(())
    async with talking(program(host), Model(Reply("Name?")), world=world) as talk:
        assert await talk.say("hi") == ["Name?"]
    async with talking(program(host), Model(), world=world) as talk:
        assert await talk.say("Ada-1") == ["Ada-1"]
        assert len([fact for fact in talk.facts("start") if isinstance(fact, dict) and fact["pb"] == "GetWeather"]) == 1
