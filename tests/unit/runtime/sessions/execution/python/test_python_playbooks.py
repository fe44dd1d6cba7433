"""Playbooks in Python: their results come one at a time, from the journal."""

import threading

import pytest

from runtime.core.errors import Divergence, Unjournaled
from runtime.language.program import Program
from runtime.tape.fold import apply_fact
from runtime.tape.state.session import SessionState
from tests.fakes.people.talk import Model, Talk, answered, talking
from tests.unit.runtime.sessions.programs import MAIN, agent, program, python


def main(code: str, *more: object) -> Program:
    """An agent whose Main begins."""
    return program(agent("Main", MAIN, *more, code=code))  # type: ignore[arg-type]


async def said(code: str, *more: object, people: tuple[str, ...] = ("go",)) -> list[str]:
    async with talking(main(code, *more), Model()) as talk:
        for text in people:
            await talk.say(text)
        return talk.chat


async def test_gathered_playbooks_run_together_and_give_their_values_in_order() -> None:
    code = """
import asyncio
async def Main():
    values = await asyncio.gather(*(Double(n) for n in range(4)))
    await Say("user", str(values))
    await EndProgram()
async def Double(n):
    await Sleep(4 - n)
    return 2 * n
"""
    assert await said(code, python("Double", "n")) == ["[0, 2, 4, 6]"]


async def test_a_failure_in_a_task_group_cancels_the_others_and_is_caught_as_it_is() -> None:
    code = """
import asyncio
async def Main():
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(forever())
            group.create_task(Fail())
    except* LookupError as caught:
        await Say("user", f"caught {caught.exceptions[0]}")
    await EndProgram()
async def forever():
    await WaitForMessage("user")
async def Fail():
    await Now()
    raise LookupError("no luck")
"""
    async with talking(main(code, python("Fail")), Model()) as talk:
        assert await talk.say("go") == ["caught no luck"]
        assert ["Cancelled" in str(data) for data in talk.facts("drop")] == [True]


async def test_a_wait_with_a_time_limit_loses_a_race_and_leaves_the_message_to_others() -> None:
    code = """
import asyncio
async def Main():
    none = await WaitForMessage("user", 5)
    await Say("user", f"first: {none}")
    sleeper = asyncio.ensure_future(Sleep(60))
    waiter = asyncio.ensure_future(WaitForMessage("agent 1000"))
    done, pending = await asyncio.wait({sleeper, waiter}, return_when=asyncio.FIRST_COMPLETED)
    waiter.cancel()
    await Say("user", f"slept: {sleeper in done}")
    messages = await WaitForMessage("user")
    await Say("user", messages[0]["text"])
"""
    assert await said(code, people=("go", "here I am")) == ["first: None", "slept: True", "here I am"]


async def test_an_endless_playbook_keeps_a_bounded_journal() -> None:
    code = """
async def Main():
    return await Listen(0)
async def Listen(count):
    for message in await WaitForMessage("user"):
        count += 1
        await Var("count", count)
        await Say("user", f"{count} {variables['count']}")
    return Again(count)
"""
    async with talking(main(code, python("Listen", "count")), Model(), after="go") as talk:
        for number in range(1, 51):
            assert await talk.say(str(number)) == [f"{number} {number}"]
        state = _state(talk)
    frame = state.frames["1000.0:0"]
    assert frame.kwargs == {"count": 50}
    assert len(frame.records) <= 1
    assert sum(len(one.records) for one in state.frames.values()) <= 2


def _state(talk: Talk) -> SessionState:
    state = SessionState()
    for fact in talk.world.facts:
        apply_fact(state, fact)
    return state


@pytest.mark.parametrize(
    ("waiting", "what"),
    [
        ("await asyncio.sleep(3600)", "a timer of its own (asyncio.sleep, a time limit) at test.pb:4"),
        ("await asyncio.gather(Sleep(1), asyncio.sleep(0.1))", "a timer of its own"),
        ("await asyncio.wait_for(WaitForMessage('user'), 5)", "a timer of its own"),
        ("await asyncio.to_thread(print)", "a thread or a name on the network at test.pb:4"),
        ("await asyncio.open_connection('127.0.0.1', 9)", "a connection at test.pb:4"),
        ("await asyncio.create_subprocess_exec('true')", "a process at test.pb:4"),
    ],
)
async def test_waiting_outside_of_the_journal_is_an_error_that_says_where_and_what_to_do(
    waiting: str, what: str
) -> None:
    code = f"import asyncio\nasync def Main():\n    await Now()\n    {waiting}\n"
    async with talking(main(code), Model()) as talk:
        (text,) = await talk.say("go")
        assert text.startswith(f"⚠️ This conversation cannot continue: Main waits for {what}")
        assert text.endswith("use Sleep, WaitForMessage with a time limit, or another playbook. /new starts another.")
        assert isinstance(talk.named("session.failed")[0].data["cause"], Unjournaled)
        assert await talk.say("hello?") == [text]


async def test_a_future_that_nobody_resolves_is_an_error_too() -> None:
    code = "import asyncio\nasync def Main():\n    await asyncio.get_running_loop().create_future()\n"
    (text,) = await answered(main(code), Model(), "go")
    assert "Main waits for something that is not a host call; use Sleep" in text


async def test_a_wait_that_is_refused_in_a_task_is_named_all_the_same() -> None:
    code = """
import asyncio
async def Main():
    async with asyncio.TaskGroup() as group:
        group.create_task(pause())
async def pause():
    await asyncio.sleep(1)
"""
    (text,) = await answered(main(code), Model(), "go")
    assert "Main waits for a timer of its own (asyncio.sleep, a time limit) at test.pb:7" in text


async def test_code_that_differs_when_it_runs_again_is_an_error_that_names_both_calls() -> None:
    code = f"""
async def Main():
    if FLIP.pop():
        await Say("user", "one way")
    else:
        await Var("x", 1)
    await WaitForMessage("user")
FLIP = __import__("sys").modules["{__name__}"].FLIP
"""
    FLIP[:] = [False, True]
    async with talking(main(code), Model(), after="go") as talk:
        world = talk.world
    async with talking(main(code), Model(), world=world) as talk:
        (text,) = await talk.say("are you there?")
    assert "Main did something else when it was executed again (test.pb:6)" in text
    assert text.endswith("/new starts another.")
    failed = talk.named("session.failed")[0].data
    assert isinstance(failed["cause"], Divergence)
    for part in ("the journal has Say (arguments #", "which gave None; the code now calls Var('x', 1) (arguments #"):
        assert part in failed["error"]


FLIP: list[bool] = []


async def test_plain_functions_run_in_a_thread_and_give_values_and_errors() -> None:
    code = """
import threading
async def Main():
    await Say("user", str(await Add(2, b=3)))
    try:
        await Add(2, "x")
    except TypeError as error:
        await Say("user", "typed")
    try:
        await Add(2)
    except Exception as error:
        await Say("user", f"{type(error).__name__}: {error}")
    await EndProgram()
def Add(a, b):
    assert threading.current_thread() is not threading.main_thread()
    return a + b
"""
    assert await said(code, python("Add", "a", "b")) == ["5", "typed", "PlaybookError: Add needs 'b'"]


async def test_an_exception_of_a_type_that_nobody_knows_keeps_its_name_and_text() -> None:
    code = """
async def Main():
    try:
        await Fail()
    except Exception as error:
        await Say("user", f"{error.type_name}: {error.text}")
    await EndProgram()
class Special(Exception): ...
async def Fail():
    raise Special("odd")
"""
    assert await said(code, python("Fail")) == ["Special: odd"]


async def test_variables_are_those_of_the_last_result() -> None:
    code = """
import asyncio
async def Main():
    await Var("x", 1)
    other = asyncio.ensure_future(Var("x", 2))
    seen = variables["x"]
    await other
    await Say("user", f"{seen} {variables['x']} {dict(variables).get('y')} {len(variables)}")
    await EndProgram()
"""
    assert await said(code) == ["1 2 None 2"]


async def test_parallel_speakers_of_one_playbook_speak_in_turn() -> None:
    code = """
import asyncio
async def words(*parts):
    for part in parts:
        yield part
async def Main():
    await asyncio.gather(
        Say("user", words("a", "b", "c")), Say("user", words("d", "e", "f")), Say("user", "g"), Say("user", words("h"))
    )
    await EndProgram()
"""
    async with talking(main(code), Model()) as talk:
        assert sorted(await talk.say("go")) == ["abc", "def", "g", "h"]
        for shown in talk.world.chat:
            assert all(shown.text.startswith(text) for text in shown.texts), shown.texts


async def test_a_trigger_runs_when_its_condition_becomes_true_and_not_while_it_stays_so() -> None:
    code = """
async def Main():
    for value in (1, 20, 30, 2, 40):
        await Var("x", value)
    await Say("user", "done")
    await EndProgram()
async def Big():
    await Say("user", f"big: {variables['x']}")
    await Var("x", variables["x"] + 1)
"""
    big = python("Big", trigger="CND When $x > 10")
    assert await said(code, big) == ["big: 20", "big: 40", "done"]


async def test_a_trigger_does_not_set_itself_off() -> None:
    code = """
async def Main():
    await Var("x", 20)
    await Say("user", f"x is {variables['x']}")
    await EndProgram()
async def Big():
    await Var("x", 1)
    await Var("x", 21)
"""
    assert await said(code, python("Big", trigger="CND When $x > 10")) == ["x is 21"]


async def test_the_failure_of_a_triggered_playbook_is_seen_where_the_variable_was_set() -> None:
    code = """
async def Main():
    try:
        await Var("x", 20)
    except ValueError as error:
        await Say("user", f"{error}, x is {variables['x']}")
    await EndProgram()
async def Big():
    raise ValueError("too big")
"""
    assert await said(code, python("Big", trigger="CND When $x > 10")) == ["too big, x is 20"]


async def test_a_wrong_call_is_a_typed_error_at_the_call() -> None:
    code = """
async def Main():
    for call in (lambda: Say("Nobody", "x"), lambda: Say("user"), lambda: Var("x", object()), lambda: Nap(1)):
        try:
            await call()
        except Exception as error:
            await Say("user", f"{type(error).__name__}: {error}"[:40])
    await EndProgram()
async def Nap():
    pass
"""
    assert await said(code, python("Nap")) == [
        "UnknownTarget: nobody called 'Nobody' ca",
        "PlaybookError: Say needs 'message'; it i",
        "TypeError: Object of type object is not ",
        "PlaybookError: Nap takes 0 arguments, no",
    ]


async def test_a_restart_shows_code_the_variables_as_they_were() -> None:
    code = """
async def Main():
    await Var("x", 1)
    await Say("user", f"x is {variables['x']}")
    await Var("x", 2)
    await Other()
    for message in await WaitForMessage("user"):
        await Say("user", f"{message['text']} {variables['x']}")
    await EndProgram()
async def Other():
    await Var("x", 3)
"""
    async with talking(main(code, python("Other")), Model()) as talk:
        assert await talk.say("go") == ["x is 1"]
    assert await answered(main(code, python("Other")), Model(), "now", world=talk.world) == ["now 3"]


HELD = threading.Event()
"""What a plain function waits for until a test lets it go."""


async def test_a_plain_function_runs_beside_the_loop_and_a_stop_does_not_wait_for_it() -> None:
    code = """
from tests.unit.runtime.sessions.execution.python.test_python_playbooks import HELD

def Main():
    HELD.wait(60)
"""
    HELD.clear()
    try:
        async with talking(main(code), Model()) as talk:
            talk.post("go")
            await talk.until(lambda: bool(talk.facts("start")))
            await talk.say("", kind="stop")
            assert talk.chat == ["⏹ Stopped. The next message starts the program over."]
            assert not HELD.is_set()
    finally:
        HELD.set()


async def test_playbooks_that_call_each_other_without_an_end_fail_and_the_session_goes_on() -> None:
    code = """
async def Main():
    try:
        await Deeper(2)
    except Exception as error:
        await Say("user", str(error))
    await Say("user", "still here")
async def Deeper(depth):
    if depth == 100:
        await Say("user", "100 are there")
    await Deeper(depth + 1)
"""
    deeper = python("Deeper", "depth")
    chat = await said(code, deeper)
    assert chat == ["100 are there", "Deeper would be 101 calls deep; 100 are the most", "still here"]
