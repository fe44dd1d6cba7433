"""A program of two agents and a file of Python, a conversation with it, and an editor that debugs it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from gateway.observability.debugger.server import DebugAddress, SessionDebugger
from runtime.bus import Bus
from runtime.core.clock import SystemClock
from runtime.core.errors import LLMError
from runtime.events.happening import BusEvent
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program
from tests.fakes.crashes.world import World
from tests.fakes.people.talk import Model, Reply, Talk, patient_workers, talking
from tests.fakes.protocols.dap_client import DapClient, debugging

GUIDE = """\
# Host
You greet people.

## Main
### Triggers
- When the program starts
### Steps
- Ask the user for their $name, in the
  words of the house
- $place = Scout.Find($name)
- $letters = Letters($name)
- Say "{place}, {letters}"
- End program

!import letters.txt

# Scout
You find places.

## Find($who)
public: true
### Steps
- Pick a $spot:dict for $who
- Return $spot.town
"""

LETTERS = """\
```python
@playbook
async def Letters(name):
    now = await Now()
    again = await Now()
    return len(name)
```
"""

ASK, FIND, COUNT, TELL, END = 8, 10, 11, 12, 13
PICK, RETURN = 23, 24
"""Lines of the guide."""

ASKS = Reply("Who are you?")
NAMED = Reply('{"does": "answer", "name": "Ada"}')
PICKS = Reply('{"spot": {"town": "Oslo", "at": [1, 2, 3]}}')


async def guide_in(directory: Path) -> tuple[Path, Program]:
    """The program, compiled from files in `directory`; its main file."""
    (directory / "letters.txt").write_text(LETTERS)
    file = directory / "guide.pb"
    file.write_text(GUIDE)
    return file, (await compile_program([file], lowerer=RulesLowerer())).program


@dataclass
class Debugged:
    """Everything of one process."""

    talk: Talk
    editor: DapClient
    debugger: SessionDebugger
    model: Model
    events: list[BusEvent]
    file: Path = Path()
    """The guide, where it is what runs."""

    async def stand_at(self, file: Path, line: int, **attach: object) -> int:
        """Begin to debug, and come to a line of the guide; the thread that stands there."""
        await self.editor.begin({file: [line]}, **attach)
        await self.talk.say("hi")
        self.talk.post("Ada")
        thread: int = (await self.editor.stopped())["threadId"]
        return thread

    async def idle(self) -> None:
        """Return when nothing goes on in any session."""
        with anyio.fail_after(60):
            await self.talk.world.idle.wait()


@asynccontextmanager
async def debugged(
    program: Program,
    *replies: Reply | LLMError,
    world: World | None = None,
    waits: bool = False,
    model: Model | None = None,
    **more: Any,
) -> AsyncIterator[Debugged]:
    """A process with a debug server, and an editor that is connected and has said nothing yet.

    The model gives its `replies`, unless it is a `model` of its own.
    """
    events: list[BusEvent] = []
    bus = Bus(SystemClock())
    bus.subscribe("debugger.*", events.append)
    model = model or Model(*replies)
    async with patient_workers() as sandbox, anyio.create_task_group() as tasks:
        debugger = SessionDebugger(DebugAddress("127.0.0.1", 0, waits), {program.name: program}, sandbox, bus)
        port = await tasks.start(debugger.serve)
        async with (
            talking(program, model, sandbox, world=world, debugger=debugger.watch, **more) as talk,
            debugging(port) as editor,
        ):
            yield Debugged(talk, editor, debugger, model, events)
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def guided(directory: Path, *replies: Reply | LLMError, **more: Any) -> AsyncIterator[Debugged]:
    """A process with a debug server that runs the guide."""
    file, program = await guide_in(directory)
    async with debugged(program, *replies, **more) as at:
        at.file = file
        yield at
