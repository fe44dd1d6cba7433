"""What the Python of programs for the language's first implementation uses, and finds here as well."""

import pytest

from runtime.sandbox.monty import MontySandbox
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Reply, answered, block, talking
from tests.unit.runtime.sessions.programs import compiled


def shop(code: str, below: str = "") -> str:
    """A program whose Main, in Python, begins."""
    begins = code.replace("async def Main", '@playbook(triggers=["When program starts"])\nasync def Main', 1)
    return f"# Shop\n\n```python\n{begins}\n```\n{below}"


async def said(code: str, *people: str, below: str = "") -> list[str]:
    async with talking(await compiled(shop(code, below)), Model()) as talk:
        for text in people or ("go",):
            await talk.say(text)
        return talk.chat


async def test_the_state_is_assigned_and_read_at_once() -> None:
    code = """
async def Main():
    agent.state.total = 2
    self.state.total += 1
    agent.state["name"] = "Ada"
    await Say("user", f"{agent.state.total} {agent.state['name']} {variables['total']} {'name' in agent.state}")
    await Say("user", f"{agent.state.get('nothing')} {hasattr(agent.state, 'nothing')} {agent.id} {agent.klass}")
"""
    assert await said(code) == ["3 Ada 3 True", "None False 1000 Shop"]


async def test_an_assignment_is_on_the_tape_before_the_next_call_and_in_its_order() -> None:
    code = """
async def Main():
    agent.state.n = 1
    agent.state.n = 2
    await Say("user", await Read())
    agent.state.n = 3

@playbook
async def Read():
    return str(agent.state.n)
"""
    async with talking(await compiled(shop(code)), Model()) as talk:
        assert await talk.say("go") == ["2"]
        assigned = [data["set"] for data in talk.facts("res") if isinstance(data, dict) and "set" in data]
    assert assigned == [{"n": 1}, {"n": 2}, {"n": 3}]


async def test_a_list_that_is_changed_in_place_is_assigned_with_the_next_call() -> None:
    code = """
async def Main():
    agent.state.board = ["", ["", ""]]
    agent.state.board[0] = "x"
    agent.state.board[1][0] = "o"
    await Say("user", await Read())
    agent.state.board.append("last")
    await EndTurn()

@playbook
async def EndTurn():
    await Say("user", await Read())

@playbook
async def Read():
    return str(agent.state.board)
"""
    assert await said(code) == ["['x', ['o', '']]", "['x', ['o', ''], 'last']"]


async def test_a_list_that_was_assigned_is_the_variable_when_the_code_changes_it_later() -> None:
    code = """
async def Main():
    board = []
    agent.state.board = board
    await Now()
    board.append("x")
    await Say("user", f"{await Read()} {agent.state.board is board}")

@playbook
async def Read():
    return str(variables["board"])
"""
    assert await said(code) == ["['x'] True"]


async def test_what_is_assigned_last_is_kept_when_the_playbook_has_ended() -> None:
    code = """
async def Main():
    await Set()
    await Say("user", f"{agent.state.n} {agent.state.seen}")

@playbook
async def Set():
    agent.state.seen = []
    agent.state.seen.append(1)
    agent.state.n = 1
"""
    assert await said(code) == ["1 [1]"]


async def test_an_assignment_starts_what_waits_for_it_before_the_code_goes_on() -> None:
    code = """
async def Main():
    agent.state.total = 20
    await Now()
    await Say("user", f"then {agent.state.total}")

@playbook(triggers=["When $total > 10"])
async def Alarm():
    await Say("user", "so much")
    await Var("total", 5)
"""
    assert await said(code) == ["so much", "then 5"]


async def test_an_assignment_that_does_not_fit_fails_the_next_call_which_is_not_made() -> None:
    code = """
async def Main():
    agent.state.total = "many"
    try:
        await Say("user", "never said")
    except PlaybookError as error:
        await Say("user", f"{error}; {agent.state.get('total')}")
"""
    below = "\n## Count\n### Steps\n- Set $total:int to 3\n"
    assert await said(code, below=below) == ["$total is declared int; 'many' is str; None"]


async def test_an_assignment_that_does_not_fit_fails_a_playbook_that_makes_no_other_call() -> None:
    code = """
async def Main():
    try:
        await Set()
    except PlaybookError as error:
        await Say("user", str(error))

@playbook
async def Set():
    agent.state.total = "many"
"""
    below = "\n## Count\n### Steps\n- Set $total:int to 3\n"
    assert await said(code, below=below) == ["$total is declared int; 'many' is str"]


async def test_a_change_in_place_that_is_no_data_fails_the_next_call_until_it_is_mended() -> None:
    code = """
async def Main():
    agent.state.tags = []
    agent.state.tags.append({"a"})
    try:
        await Say("user", "never said")
    except PlaybookError as error:
        agent.state.tags = ["a"]
        await Say("user", f"{str(error)[:59]} {agent.state.tags}")
"""
    assert await said(code) == ["$tags was assigned a value that does not survive a restart: ['a']"]


async def test_a_call_behind_an_assignment_that_is_given_up_before_it_began_never_begins() -> None:
    code = """
import asyncio

async def Main():
    agent.state.n = 1
    waiting = asyncio.ensure_future(WaitForMessage("user"))
    waiting.cancel()
    await Say("user", "done")
    await EndProgram()
"""
    async with talking(await compiled(shop(code)), Model()) as talk:
        assert await talk.say("go") == ["done"]
        assert talk.facts("wait", "drop") == []


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("agent.state.x = object()", "$x was assigned a value that does not survive a restart"),
        ("del agent.state.x", "a variable cannot be deleted; assign None to agent.state.x"),
        ("agent.state.x", "the agent has no variable $x"),
        ("agent.memory", "an agent has no 'memory' in Python"),
        (
            "self.current_meeting.shared_state.x = 1",
            'an agent has no \'current_meeting\' in Python: use await Share("name", value) and await Shared("name")',
        ),
        (
            'Clerk.get_or_create(requester="me")',
            "Clerk has no playbook 'get_or_create': use await IdleAgent(",
        ),
        ("await Clerk.Hide()", "Hide of Clerk is not public, so other agents cannot call it"),
        ('await CallAgent(await CreateAgent("Clerk"), "Hide")', "Hide of Clerk is not public"),
    ],
)
async def test_what_cannot_be_done_says_so(line: str, error: str) -> None:
    code = f"""
async def Main():
    try:
        {line}
    except Exception as error:
        await Say("user", str(error))
"""
    clerk = "\n# Clerk\n\n```python\n@playbook\nasync def Hide(): ...\n```\n"
    (text,) = await said(code, below=clerk)
    assert text.startswith(error)


@pytest.mark.parametrize(
    ("public", "error"),
    [
        ("public: true", "Hide of Clerk is not public, so other agents cannot call it; public are Clerk.Show"),
        ("", "Hide of Clerk is not public, so other agents cannot call it"),
    ],
)
async def test_a_model_hears_that_a_playbook_of_another_agent_is_not_public(public: str, error: str) -> None:
    text = "# Shop\n\n## Main\n### Triggers\n- When program starts\n### Steps\n- Do it; wait for the user\n"
    clerk = f"\n# Clerk\n\n## Hide\n### Steps\n- Think\n\n## Show\n{public}\n### Steps\n- Think\n"
    model = Model(block('await Step("Main:01:EXE")', "await Clerk.Hide()"), block('await Yld("user")'))
    await answered(await compiled(text + clerk), model, "go")
    assert error in model.told(1)


async def test_a_message_has_attributes_and_keys_and_is_data() -> None:
    code = """
import json

async def Main():
    await Say("user", "yes?")
    messages = await WaitForMessage(source_agent_id="user")
    first = messages[0]
    await Say("user", f"{first.content} {first['text']} {first.sender_id} {first.message_type} {first.meeting_id}")
    await Say("user", await Length(first) + " " + str(json.loads(json.dumps(first)) == first))
    try:
        first.colour
    except AttributeError as error:
        await Say("user", str(error)[:26])

@playbook
async def Length(message: dict) -> str:
    return str(len(message["text"]))
"""
    seen = ["yes?", "hello hello test:Ada direct None", "5 True", "a message has no 'colour';"]
    assert await said(code, "go", "hello") == seen


async def test_an_agent_that_was_made_has_an_id() -> None:
    code = """
async def Main():
    made = await CreateAgent(agent_klass="Clerk", mark="x")
    await Say("user", f"{made} {made.id} {await CallAgent(made.id, 'Show')} {await CallAgent(made, 'Show')}")
"""
    clerk = "\n# Clerk\n\n```python\n@playbook(public=True)\nasync def Show():\n    return agent.state.mark\n```\n"
    assert await said(code, below=clerk) == ["agent 1001 1001 x x"]


async def test_calls_can_be_made_by_the_agent() -> None:
    code = """
async def Main():
    await self.Say("user", await agent.Double(2))

@playbook
async def Double(n: int) -> str:
    return str(2 * n)
"""
    assert await said(code) == ["4"]


async def test_log_takes_its_text_by_name() -> None:
    code = '\nasync def Main():\n    await Log(text="sold", pieces=3)\n    await Say("user", "done")\n'
    async with talking(await compiled(shop(code)), Model()) as talk:
        assert await talk.say("go") == ["done"]
    assert [(event.data["line"], event.data["values"]) for event in talk.named("program.logged")] == [
        ("sold", {"pieces": 3})
    ]


async def test_assignments_are_made_once_over_a_restart(sandbox: MontySandbox) -> None:
    code = """
async def Main():
    agent.state.seen = ["begun"]
    await Say("user", "yes?")
    agent.state.seen.append((await WaitForMessage("user"))[0].content)
    agent.state.n = len(agent.state.seen)
    await Say("user", f"{agent.state.n} {agent.state.seen}")
    await WaitForMessage("user")
    await Say("user", f"still {agent.state.n} {agent.state.seen}")
"""
    program = await compiled(shop(code))
    world = World(())
    shown: list[str] = []
    for text in ("go", "hello", "well"):
        async with talking(program, Model(), sandbox, world=world) as talk:
            shown = [*shown, *await talk.say(text)]
    assert shown == ["yes?", "2 ['begun', 'hello']", "still 2 ['begun', 'hello']"]
    assigned = [fact.data["set"] for fact in world.facts if fact.kind == "res" and "set" in fact.data]
    assert assigned == [{"seen": ["begun"]}, {"seen": ["begun", "hello"]}, {"n": 2}]


async def test_a_placeholder_names_what_the_fence_defines() -> None:
    text = """# Shop

```python
from datetime import date

RATE = 1.5

def price(n):
    return RATE * n

async def twice(n):
    return 2 * n
```

## Main($n = 2)
execution_mode: raw

Since {date(2026, 5, 1):%Y}: {price($n):.2f}, {twice(n)}, {price(await Half(n))}, {date(2026, 5, 1)}, {1 / RATE - x},
{price("a") / 0}, {nobody.knows}, {agent.klass}.

### Triggers
- When program starts

## Half($m) -> int
execution_mode: raw

Half of {$m}
"""
    model = Model(Reply("4"), Reply("done"))
    await answered(await compiled(text), model, "go")
    asked = model.asked[-1][0].content + model.asked[-1][-1].content
    assert "Since 2026: 3.00, 4, 6.0, 2026-05-01, {1 / RATE - x}," in asked
    assert "(not known: TypeError" in asked
    assert "{nobody.knows}, Shop." in asked
