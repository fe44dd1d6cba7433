"""Tasks in the English of steps, carried out by the runtime."""

from runtime.language.program import Program
from runtime.stores.orders import TaskLimits
from tests.fakes.people.talk import Model, Reply, answered, talking
from tests.unit.runtime.sessions.programs import compiled

DESK = """# Desk

## Main
### Triggers
- At the beginning
### Steps
- $topic = "tides"
{steps}
- End program

# Researcher
```python
@playbook(public=True)
async def Study(topic):
    return "all about " + topic


@playbook(public=True)
async def Break():
    raise ValueError("no library")
```
"""


async def desk(*steps: str) -> Program:
    return await compiled(DESK.format(steps="\n".join(f"- {step}" for step in steps)))


async def test_a_task_is_started_and_waited_for_without_a_model() -> None:
    program = await desk(
        "Start a Researcher on $topic in the background",
        'Say(user, "One moment.")',
        "Wait for the research and store the result in $found",
        'Say(user, "I know {$found}.")',
    )
    assert await answered(program, Model(), "hi", tasks=TaskLimits()) == ["One moment.", "I know all about tides."]


async def test_a_task_with_a_name_is_waited_for_among_others() -> None:
    program = await desk(
        "Start a Researcher on $topic in the background as $first",
        'Start a Researcher on "moons" in the background as $second',
        "$late = wait for $second",
        "Get the result of task $first as $early",
        'Say(user, "{$early}, {$late}")',
    )
    assert await answered(program, Model(), "hi", tasks=TaskLimits()) == ["all about tides, all about moons"]


async def test_a_later_step_knows_a_result_that_has_no_variable() -> None:
    program = await desk(
        "Start a Researcher's Study on $topic in the background",
        "Wait for the study",
        "Tell the user what was found",
    )
    model = Model(Reply("Everything about tides."))
    async with talking(program, model, tasks=TaskLimits()) as talk:
        assert await talk.say("hi") == ["Everything about tides."]
        assert any('gave "all about tides"' in message.content for message in model.asked[0])


async def test_what_does_it_means_the_latest_of_them() -> None:
    program = await desk(
        '$one = Spawn("Researcher", "Study", ["ebb"])',
        '$two = Spawn("Researcher", "Study", ["flow"])',
        '$found = Result("Researcher.Study")',
        'Say(user, "{$found}")',
    )
    assert await answered(program, Model(), "hi", tasks=TaskLimits()) == ["all about flow"]


async def test_what_nobody_was_ordered_to_do_has_no_result() -> None:
    program = await desk('$found = Result("Researcher.Study")', "If that failed", '  - Say(user, "None.")')
    async with talking(program, Model(), tasks=TaskLimits(), after="hi") as talk:
        failed = [fact for fact in talk.world.facts if "no task of Researcher.Study was ordered" in str(fact.data)]
        assert failed
