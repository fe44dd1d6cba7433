"""What the participants of a meeting share."""

import pytest
from msgspec.structs import replace

from runtime.language.program import AgentSpec, Program
from tests.fakes.people.talk import Model, answered, block, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, exits, llm, program, python

GUEST = """
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"].startswith("Meeting has ended"):
                return
            if "your turn" in message["text"]:
                await Say("meeting", await Turn())
"""


def talk_of(host: str, turn: str, *, after: str = "") -> Program:
    """A meeting in which the host does something, asks its guest with "your turn", and says what was answered."""
    indented = "\n    ".join(line for line in host.strip().splitlines())
    body = "\n    ".join(line for line in turn.strip().splitlines())
    code = f"""
async def Main():
    try:
        await Say("user", str(await Talk()))
    except Exception as error:
        await Say("user", f"{{type(error).__name__}}: {{error}}")
    {after or 'await Say("user", "bye")'}
    await EndProgram()

async def Talk():
    {indented}

async def Over():
    await Say("meeting", "Guest, it is your turn")
    await WaitForMessage("meeting")
"""
    talk = python("Talk", meeting=True, required_attendees=["Guest"])
    guest = agent(
        "Guest", python("Join", meeting=True), python("Turn"), code=f"{GUEST}\nasync def Turn():\n    {body}\n"
    )
    return program(agent("Host", MAIN, talk, python("Over"), code=code), guest)


async def heard(said: Program) -> list[str]:
    return [text for text in await answered(said, Model(), "go") if text not in ("bye", "Guest, it is your turn")]


async def test_what_one_participant_shares_all_others_read() -> None:
    host = """
await Share("board", [[1, 2], [3, 4]])
await Over()
return await Shared()
"""
    turn = """
board = await Shared("board")
board[0][1] = "x"
await Share("board", board)
await Share("next", "agent 1000")
return f"I saw {await Shared('nothing')} and {(await Shared('board'))[0]}"
"""
    assert (await heard(talk_of(host, turn)))[-1] == "{'board': [[1, 'x'], [3, 4]], 'next': 'agent 1000'}"


async def test_every_write_makes_a_version_which_is_told_with_who_wrote_it() -> None:
    host = """
first = await Share("budget", 1200)
await Over()
return [first, await Shared("budget", with_version=True), await Shared("other", with_version=True)]
"""
    turn = """
return f"mine is version {await Share('budget', 1300)}"
"""
    assert await heard(talk_of(host, turn)) == [
        "mine is version 2",
        "[1, {'value': 1300, 'version': 2, 'by': 'Guest (agent 1001)'}, {'value': None, 'version': 0, 'by': None}]",
    ]


async def test_a_write_that_expects_another_version_is_refused_and_says_who_wrote_what() -> None:
    host = """
await Share("budget", 1200)
await Over()
try:
    await Share("budget", 1000, expected=1)
except SharedStateConflict as error:
    await Say("user", str(error))
return await Share("budget", 1000, expected=2)
"""
    turn = """
return f"now {await Share('budget', 1300, expected=1)}"
"""
    assert await heard(talk_of(host, turn)) == [
        "now 2",
        "'budget' of meeting 100 was not written: version 2 is there, by Guest (agent 1001), and version 1 was "
        "expected; read it again and decide again",
        "3",
    ]


async def test_version_0_is_expected_of_what_nobody_has_written() -> None:
    host = """
await Share("chair", "Host", expected=0)
await Over()
return await Shared("chair")
"""
    turn = """
try:
    await Share("chair", "Guest", expected=0)
except PlaybookError as error:
    return str(error).split(":")[1].split(",")[0].strip()
"""
    assert await heard(talk_of(host, turn)) == ["version 1 is there", "Host"]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("Share('', 1)", "a name in the shared state is one line of 1 to 100 characters, not ''"),
        ("Share('a\\nb', 1)", "a name in the shared state is one line of 1 to 100 characters, not 'a\\nb'"),
        ("Share(7, 1)", "Share takes name as a text, not 7"),
        ("Share('a', 1, expected='1')", "Share takes expected as the number of a version, not '1'"),
        ("Share('a', 1, expected=True)", "Share takes expected as the number of a version, not True"),
        ("Share('a', float('nan'))", "the value of 'a' is not data that survives a restart"),
        ("Share('a', {1, 2})", "the value of 'a' is not data that survives a restart"),
        ("Share('a', 'x' * 64000)", "'a' has 64002 characters as JSON, and meeting 100 may share 64000, of which 0"),
        ("Share('a', 1, meeting=999)", "there is no meeting 999"),
        ("Share('a')", "Share needs 'value'"),
    ],
)
async def test_what_cannot_be_shared_is_an_error_that_says_why(call: str, error: str) -> None:
    answer = (await heard(talk_of(f"return await {call}", "return 1")))[-1]
    assert error in answer


async def test_only_so_many_values_are_shared() -> None:
    host = """
for number in range(101):
    await Share(f"v{number}", number)
"""
    assert "meeting 100 shares 100 values already; 'v100' is one too many" in (await heard(talk_of(host, "pass")))[-1]


async def test_outside_of_a_meeting_there_is_nothing_to_share() -> None:
    code = """
async def Main():
    for call in (Share, Shared):
        try:
            await call("a", 1)
        except Exception as error:
            await Say("user", str(error))
"""
    async with talking(program(agent("Alone", MAIN, code=code)), Model()) as talk:
        assert await talk.say("go") == ["this playbook is in no meeting", "there is no meeting 1"]


async def test_who_is_not_in_a_meeting_neither_reads_nor_writes_what_it_shares() -> None:
    host = """
await Share("secret", 1)
for line in await Spy.Look():
    await Say("user", line)
"""
    spy = """
import asyncio

async def Look():
    await Own()
    return variables["found"]

async def Own():
    found = []
    for call in (Share("secret", 2), Share("secret", 2, meeting="meeting 100")):
        try:
            await call
        except Exception as error:
            found.append(str(error))
    await Var("found", found)
"""
    said = talk_of(host, "pass")
    both = replace(said, agents=(*said.agents, agent("Spy", python("Look", public=True), python("Own"), code=spy)))
    refusal = "Spy (agent 1002) is not in meeting 100; it has to be invited first"
    assert (await heard(both))[:2] == ["this playbook is in no meeting", refusal]


async def test_after_its_end_a_meeting_is_read_by_its_host_until_that_returns_and_not_written() -> None:
    host = """
await Share("result", 42)
await EndMeeting()
try:
    await Share("result", 43)
except PlaybookError as error:
    await Say("user", str(error))
return await Shared("result")
"""
    said = talk_of(host, "pass", after="await Say('user', str(await Shared(meeting=100)))")
    seen = await answered(said, Model(), "go")
    assert seen[:2] == ["meeting 100 has ended: its shared state can only be read", "42"]
    assert "result" not in seen[-1]


async def test_participants_that_count_the_same_thing_at_once_lose_nothing() -> None:
    count = """
async def Count():
    for _ in range(5):
        while True:
            entry = await Shared("count", with_version=True)
            await Now()
            try:
                await Share("count", (entry["value"] or 0) + 1, expected=entry["version"])
                break
            except SharedStateConflict:
                await Share("conflicts", 1)
"""
    host = """
async def Main():
    await Say("user", str(await Talk()))
    await EndProgram()

async def Talk():
    await Say("meeting", "count!")
    await Count()
    for _ in range(20):
        if await Shared("count") == 10:
            return await Shared()
        await Sleep(1)
"""
    join = """
async def Join():
    while True:
        for message in await WaitForMessage("meeting"):
            if message["text"] == "count!":
                await Count()
            if message["text"].startswith("Meeting has ended"):
                return
"""
    talk_spec = python("Talk", meeting=True, required_attendees=["Guest"])
    said = program(
        agent("Host", MAIN, talk_spec, python("Count"), code=host + count),
        agent("Guest", python("Join", meeting=True), python("Count"), code=join + count),
    )
    assert "'count': 10" in (await answered(said, Model(), "go"))[-1]


def chef() -> AgentSpec:
    return agent(
        "Host",
        llm("Main", "01:QUE Talk()", "02:QUE Say", "03:YLD for exit", begins=True),
        replace(llm("Talk", "01:QUE Share", "02:RET"), metadata={"meeting": True, "execution_mode": "react"}),
    )


MAIN_REPLY = block(
    'await Step("Main:01:QUE")',
    "v = await Talk()",
    'await Step("Main:02:QUE")',
    'await Say("user", f"we had {v}")',
    *exits("Main:03:YLD"),
)
SHARE = 'await Step("Talk:01:QUE")'
RETURN = ('await Step("Talk:02:RET")', 'await Var("__", "done")')


async def test_the_model_shares_reads_by_name_and_sees_versions_and_writers() -> None:
    model = Model(
        MAIN_REPLY,
        block(
            SHARE,
            'await Share("dish", {"name": "soup"})',
            'await Share("price", 7)',
            'dearer = shared["price"] + 1',
            'await Share("price", dearer, expected=1)',
            'await Yld("call")',
        ),
        block(*RETURN, "await Return(f\"{shared['dish']['name']} at {shared['price']}\")"),
    )
    assert await answered(program(chef()), model, "go") == ["we had soup at 8"]
    assert "Share gave 2" in model.told(2)


async def test_a_function_that_the_model_defined_reads_what_is_shared_when_it_is_called() -> None:
    model = Model(
        MAIN_REPLY,
        block(
            SHARE,
            'def dish():\n    return shared["dish"]',
            'await Share("dish", "soup")',
            "first = dish()",
            'await Share("dish", "stew")',
            *RETURN,
            'await Return(f"{first}, then {dish()}")',
        ),
    )
    assert await answered(program(chef()), model, "go") == ["we had soup, then stew"]


async def test_a_statement_that_changes_what_is_shared_by_its_name_is_refused() -> None:
    model = Model(
        MAIN_REPLY,
        block(SHARE, 'shared["dish"] = "soup"'),
        block("# resume: 1", 'await Share("dish", "stew")', *RETURN, 'await Return(shared["dish"])'),
    )
    assert await answered(program(chef()), model, "go") == ["we had stew"]
    assert "shared is only read; `await Share(name, value)` sets a value for all in the meeting" in model.told(2)


async def test_a_conflict_is_told_to_the_model_which_goes_on_with_what_is_there() -> None:
    model = Model(
        MAIN_REPLY,
        block(SHARE, 'await Share("dish", "soup")', 'await Share("dish", "stew", expected=3)'),
        block("# resume: 3", *RETURN, 'await Return(shared["dish"])'),
    )
    assert await answered(program(chef()), model, "go") == ["we had soup"]
    assert "SharedStateConflict: 'dish' of meeting 100 was not written: version 1 is there, by Host (agent 1000)" in (
        model.told(2)
    )
