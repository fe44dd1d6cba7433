"""A program and its talks in a folder, held in this process."""

import asyncio
from pathlib import Path

from gateway.settings.tree import load
from gateway.talks.results import TalkResult
from gateway.talks.running import LoadedTalks, TalkLoader, hold_talk
from gateway.talks.staging.stage import open_stage
from runtime.core.errors import ProgramError
from runtime.execution.frames.loop import FrameLoop

GREETER = """# Greeter
You are friendly.

## Main
### Triggers
- When program starts
### Steps
- Ask the user for their $name:str
- Greet the user by name
- End program
"""
ECHO = """# Echo
```python
@playbook(triggers=["When program starts"])
async def Main():
    while True:
        for message in await WaitForMessage("user"):
            await Repeat(text=message["text"])


@playbook
async def Repeat(text: str, times: int = 1):
    await Var("last", text)
    await Say("user", f"You said {text}")
```
"""


def loaded(folder: Path, program: str, talks: str | bytes) -> LoadedTalks:
    """The talks in a file beside a program. Raises ProgramError."""
    (folder / "it.pb").write_text(program, encoding="utf-8")
    content = talks if isinstance(talks, bytes) else talks.encode()
    (folder / "it.test.md").write_bytes(content)
    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        return runner.run(TalkLoader().load(folder / "it.test.md"))


def refused(folder: Path, talks: str | bytes, program: str = GREETER) -> str:
    """What is said of talks that cannot be used, without the folder's name."""
    try:
        loaded(folder, program, talks)
    except ProgramError as error:
        return str(error).replace(f"{folder}/", "")
    raise AssertionError("the talks were taken")


def held(folder: Path, program: str, talks: str | bytes, limit_s: float = 100.0) -> list[TalkResult]:
    """What came of the talks in a file beside a program."""
    file = loaded(folder, program, talks)

    async def hold() -> list[TalkResult]:
        async with open_stage(load(environment={})) as stage:
            return [await hold_talk(file, talk, stage, limit_s=limit_s) for talk in file.talks]

    with asyncio.Runner(loop_factory=FrameLoop) as runner:
        return runner.run(hold())


def differing(folder: Path, program: str, talk: str) -> list[tuple[int, str, str]]:
    """What differs in the only talk: the line, what is written, and what was seen."""
    [result] = held(folder, program, talk)
    return [(one.line, one.expected, one.seen) for one in result.differences if not one.fits]
