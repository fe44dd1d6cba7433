"""What the calls of features do in sessions that keep nothing anywhere else: each is here, in each of these places."""

import io
from pathlib import Path

import pytest

from evals.conversation import Stage, run_once
from evals.models import Scripted
from evals.talks import Expected, Talk
from gateway.assembly.standalone import TerminalOutput, execute
from gateway.capabilities import FEATURES
from gateway.features.memories.node import memories_part
from gateway.programs.arguments import begun_by
from gateway.settings.tree import Settings
from runtime.core.clock import SystemClock
from runtime.execution.frames.signatures import declared
from runtime.language.compiler import compile_parsed
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text
from runtime.sandbox.monty import MontySandbox
from tests.fakes.clock import FakeClock
from tests.fakes.memory.memories import MemoryMemories
from tests.fakes.people.talk import Model, talking
from tests.fakes.remembering import memories_of
from tests.unit.gateway.talks.rig import differing
from tests.unit.runtime.sessions.commands.test_fork import seen_at
from tests.unit.runtime.sessions.commands.test_scratch import ROOM, copied, rest_before

OFF = "not remembered: memory is off for this program"
UNKNOWN = "Desk has no playbook 'Dance'"
NOBODY_TAKES_IT = "tasks need a gateway: here is one conversation alone"
RECALLS = "not remembered: a task only recalls; return it, and who has ordered the task can remember it"
FILES = {
    'ReadFile("plan.md")': "nobody sent a file 'plan.md' here; the files are: none",
    'Describe("plan.md")': "nobody sent a file 'plan.md' here; the files are: none",
    'SendFile("plan.md", 5)': "SendFile takes the file's content as text, not as int",
}
"""The calls about files, and what they say where files are kept."""
NO_FILES = {call: f"{call.partition('(')[0]} is not possible here, as in a task or with parley exec" for call in FILES}
CAME = {
    **NO_FILES,
    'Remember("The user has a dog")': OFF,
    'Remember("We meet on Tuesdays", about="place")': OFF,
    'Recall("dog")': "[]",
    'Schedule("every day at 9", "stand up")': "Schedule is not possible here, as in a task or with parley exec",
    'Spawn("Desk", "Dance")': UNKNOWN,
    "Tasks()": "[]",
    'Result("task 7")': "there is no task 7",
    'Cancel("task 7")': "there is no task 7",
    'Tell("task 7", "stop")': "there is no task 7",
    'Publish("orders.taken")': "nothing was published: events need a gateway, and here is one conversation alone",
}
TRIES = "\n".join(
    f"    try:\n        said.append(str(await {call}))\n    except Exception as error:\n        said.append(str(error))"
    for call in CAME
)
TRIED = "; ".join(CAME.values())
ONCE = f"""# Desk
```python
@playbook(cli_entry=True, triggers=["When program starts"])
async def Main():
    await Say("user", await Tried())

@playbook
async def Tried():
    said = []
{TRIES}
    return "; ".join(said)
```
"""
EACH_TIME = ONCE.replace(
    'await Say("user", await Tried())',
    """while True:
        for message in await WaitForMessage("user"):
            await Say("user", await Tried())""",
)
TALK = Talk(title="Calls", expect=Expected())
IN_A_TASK = ONCE.replace("await Tried()", 'await Result(await Spawn("Desk", "Tried"))', 1)
REMEMBERING = "---\nmemory: true\n---\n"


async def compiled(text: str) -> Program:
    return (await compile_parsed(parse(read_text(text, "desk.pb")), lowerer=RulesLowerer())).program


def test_every_call_of_a_feature_is_tried() -> None:
    calls = {one.name for feature in FEATURES for owner in feature.calls for one in declared(owner.found())}
    assert {call.partition("(")[0] for call in CAME} == calls


@pytest.mark.parametrize(
    ("text", "came"),
    [(ONCE, TRIED), (REMEMBERING + ONCE, TRIED), (REMEMBERING + IN_A_TASK, TRIED.replace(OFF, RECALLS))],
)
async def test_with_parley_exec(text: str, came: str) -> None:
    said, beside = io.StringIO(), io.StringIO()
    made = begun_by(await compiled(text), {})
    ended = await execute(Settings().model_copy(update={"language": "en"}), made, "", TerminalOutput(said, beside))
    assert (ended.how, said.getvalue(), beside.getvalue()) == ("done", f"{came}\n", "")


async def test_in_a_scratch_room() -> None:
    store = MemoryMemories()
    kept = memories_part(memories_of(store, FakeClock(), "desk", "test"))
    async with talking(await compiled(REMEMBERING + EACH_TIME), Model(), features=[kept]) as talk:
        for words in ("hi", "one"):
            await talk.say(words)
        remembered = store.texts()
        await copied(talk, rest_before(talk, "one"))
        await talk.say("one instead", at=ROOM)
        assert seen_at(talk, ROOM)[-1] == TRIED.replace(UNKNOWN, NOBODY_TAKES_IT)
    assert remembered == store.texts() != []


def test_in_a_talk_with_a_program_that_does_not_say_that_it_remembers(tmp_path: Path) -> None:
    with_files = "; ".join({**CAME, **FILES}.values())
    assert differing(tmp_path, ONCE, f"## Once\n- Desk: {with_files}\n") == []


async def test_in_an_eval(sandbox: MontySandbox) -> None:
    record = await run_once(await compiled(ONCE), TALK, Scripted([]), Stage(sandbox, SystemClock()))
    assert (record.how, [shown.text for shown in record.shown]) == ("waiting", [TRIED])
