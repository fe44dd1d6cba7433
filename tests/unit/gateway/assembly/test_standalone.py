"""A program by itself, on a terminal."""

import io
from collections.abc import Callable, Sequence

import pytest

from gateway.assembly.standalone import StandaloneOutcome, TerminalOutput, execute
from gateway.programs.arguments import begun_by
from gateway.settings.tree import Settings
from runtime.language.compiler import compile_parsed
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text
from tests.fakes.models.openai_server import OpenAIServer, Reply

ASKING = """# Desk
```python
@playbook(cli_entry=True)
async def Main():
    await Say("user", "Who are you?")
    for message in await WaitForMessage("user"):
        await Say("user", f"Hello, {message['text']}!")
    if await Ask("Again?", ["Yes", "No"]) == "Yes":
        raise ValueError("not today")
```
"""
HELLO = """# Greeter

## Main
cli_entry: true
### Steps
- Greet the user
"""


async def executed(
    text: str, lines: Sequence[str] | None, make: Callable[[], Settings] = Settings
) -> tuple[StandaloneOutcome, str, str]:
    program = (await compile_parsed(parse(read_text(text, "p.pb")), lowerer=RulesLowerer())).program
    said, beside, left = io.StringIO(), io.StringIO(), list(lines or ())

    async def line() -> str | None:
        return left.pop(0) if left else None

    settings = make().model_copy(update={"language": "en"})
    read = None if lines is None else line
    ended = await execute(settings, begun_by(program, {}), "", TerminalOutput(said, beside), read)
    return ended, said.getvalue(), beside.getvalue()


async def test_lines_of_the_person_are_its_answers() -> None:
    ended, said, beside = await executed(ASKING, ["Ada", "No"])
    assert ended == StandaloneOutcome("done")
    assert said == "Who are you?\nHello, Ada!\nAgain?\n"
    assert beside == "  1. Yes\n  2. No\n"


async def test_without_anybody_it_ends_where_it_waits() -> None:
    ended, said, _ = await executed(ASKING, None)
    assert (ended.how, said) == ("waiting", "Who are you?\n")
    ended, said, _ = await executed(ASKING, ["Ada"])
    assert (ended.how, said) == ("waiting", "Who are you?\nHello, Ada!\nAgain?\n")


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("out", "seen"), [(Screen, "\\u001b[2JBye"), (io.StringIO, "\x1b[2JBye")])
async def test_a_terminal_is_not_steered_and_a_pipe_gets_it_as_it_is(out: Callable[[], io.StringIO], seen: str) -> None:
    text = (
        '# Desk\n```python\n@playbook(cli_entry=True)\nasync def Main():\n    await Say("user", "\\x1b[2JBye")\n```\n'
    )
    program = (await compile_parsed(parse(read_text(text, "p.pb")), lowerer=RulesLowerer())).program
    said = out()
    await execute(Settings(language="en"), begun_by(program, {}), "", TerminalOutput(said, io.StringIO()))
    assert said.getvalue() == f"{seen}\n"


ORDERING = """# Desk
```python
@playbook(cli_entry=True)
async def Main():
    names = [await Spawn("Hand", "Make", [what]) for what in ("bread", "butter", "jam")]
    await Say("user", f"{len(await Tasks())} tasks")
    for name in names:
        try:
            await Say("user", await Result(name))
        except Exception as error:
            await Say("user", f"{type(error).__name__}: {error}")
```

# Hand
```python
@playbook(public=True)
async def Make(what):
    if what == "jam":
        raise ValueError("no sugar")
    if what == "butter":
        await Say("user", "I look for milk.")
        what = await Spawn("Cow", "Milk", [], within_s=60)
        what = f"butter of {await Result(what)}"
    return f"one {what}"
```

# Cow
```python
@playbook(public=True)
async def Milk():
    return "fresh milk" if await Ask("May I?", ["Yes", "No"]) == "Yes" else "old milk"
```
"""


async def test_tasks_run_beside_the_conversation_and_their_questions_are_answered_by_lines() -> None:
    ended, said, beside = await executed(ORDERING, ["Yes"])
    assert ended == StandaloneOutcome("done"), said + beside
    assert set(said.splitlines()[:3]) == {"3 tasks", "I look for milk.", "Task 1 (Cow.Milk) asks: May I?"}
    assert said.splitlines()[3:] == [
        "one bread",
        "one butter of fresh milk",
        "ValueError: no sugar",
    ]
    assert beside == "  1. Yes\n  2. No\n"


async def test_without_anybody_a_task_that_asks_ends_the_command_as_a_question_does() -> None:
    ended, said, _ = await executed(ORDERING, None)
    assert ended.how == "waiting"
    assert "Task 1 (Cow.Milk) asks: May I?" in said


LEAVING = """# Desk
```python
@playbook(cli_entry=True)
async def Main():
    await Spawn("Hand", "Rest", ["kept"], keep=True)
    await Spawn("Hand", "Rest", ["left"])
    await Say("user", "I go.")
    await EndProgram()
```

# Hand
```python
@playbook(public=True)
async def Rest(what):
    await Sleep(0.05)
    return what
```
"""


async def test_the_command_ends_after_the_tasks_that_outlast_the_program() -> None:
    ended, said, beside = await executed(LEAVING, None)
    assert (ended, said) == (StandaloneOutcome("done"), "I go.\n")
    assert "kept" in beside
    assert "left" not in beside


async def test_what_fails_is_told_once_and_not_as_in_a_chat() -> None:
    ended, said, beside = await executed(ASKING, ["Ada", "Yes"])
    assert ended == StandaloneOutcome("failed", "not today")
    assert " failed: " not in said + beside


async def test_steps_are_executed_on_the_model() -> None:
    async with OpenAIServer([Reply("Hello there!")]) as server:
        ended, said, _ = await executed(
            HELLO, None, lambda: Settings(model="openai/scripted", model_base_url=server.base_url)
        )
    assert (ended, said) == (StandaloneOutcome("done"), "Hello there!\n")


async def test_without_a_model_steps_fail_with_what_to_set() -> None:
    ended, said, _ = await executed(HELLO, None)
    assert (ended.how, said) == ("failed", "")
    assert ended.why.startswith("No language model is set up")


async def test_a_command_that_has_failed_waits_for_no_reminder() -> None:
    program = ASKING.replace(
        'await Say("user", "Who are you?")', 'await Remind(86400, "x")\n    raise ValueError("no")'
    )
    ended, said, _ = await executed(program, None)
    assert (ended, said) == (StandaloneOutcome("failed", "no"), "")


async def test_lines_for_the_log_stand_beside_what_is_said() -> None:
    code = "# Shop\n\n```python\n@playbook(cli_entry=True)\nasync def Main():\n"
    code += '    await Say("user", "Sold.")\n    await Log("sold", pieces=3, to="Ada")\n    await EndProgram()\n```\n'
    ended, said, beside = await executed(code, None)
    assert (ended.how, said, beside) == ("done", "Sold.\n", "sold pieces=3 to='Ada'\n")


GUEST_FAILS = """# Desk
```python
@playbook(cli_entry=True)
async def Main():
    await Say("Helper", "go")
    %s
    await Say("user", "Done.")
```

# Helper
```python
@playbook(triggers=["When the program begins"])
async def Begin():
    await WaitForMessage("Desk")
    raise ValueError("no luck")
```
"""


async def test_another_agent_that_fails_is_reported_and_the_entry_goes_on() -> None:
    ended, said, beside = await executed(GUEST_FAILS % "await Sleep(0.05)", None)
    assert (ended, said) == (StandaloneOutcome("done"), "Done.\n")
    assert "Begin failed: no luck" in beside


async def test_an_entry_that_waits_for_an_agent_that_has_failed_has_failed() -> None:
    ended, said, beside = await executed(GUEST_FAILS % 'await WaitForMessage("Helper")', ["a line"])
    assert (ended, said) == (StandaloneOutcome("failed", "no luck"), "")
    assert "no luck" in beside


async def test_an_entry_that_waits_for_somebody_after_another_agent_failed_hears_them() -> None:
    ended, said, _ = await executed(GUEST_FAILS % 'await WaitForMessage("user")', ["a line"])
    assert (ended, said) == (StandaloneOutcome("done"), "Done.\n")


MEETING_GUEST_FAILS = """# Desk
## Main
cli_entry: true
### Steps
- $told:str = Council()
- Say "{$told}"

```python
@playbook(meeting=True, required_attendees=["Helper"])
async def Council() -> str:
    await Say("meeting", "go")
    told = [message["text"] for message in await WaitForMessage("meeting")]
    return " / ".join(told)
```

# Helper
```python
@playbook(meeting=True)
async def Council():
    while "go" not in [message["text"] for message in await WaitForMessage("meeting")]:
        pass
    raise ValueError("no luck")
```
"""


async def test_a_guest_of_a_meeting_that_fails_has_left_it_and_the_command_goes_on() -> None:
    ended, said, beside = await executed(MEETING_GUEST_FAILS, None)
    assert ended == StandaloneOutcome("done")
    assert said.splitlines()[-1] == "Helper has left the meeting (it failed) / End this meeting?"
    assert "Council failed: no luck" in beside
