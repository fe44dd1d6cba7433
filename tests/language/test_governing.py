"""Words that govern a step: no reading drops them, or has them in a message or in a value."""

from pathlib import Path

import pytest

from runtime.language.compiler import compile_parsed
from runtime.language.instructions.decode import decode
from runtime.language.instructions.model import Ask, Call, Free, Meaning, Prose, Return, Say, Set, StepGroup, Think
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text
from tests.language.frames import done_otherwise

FOLDER = Path(__file__).parent / "governing"
TABLE = {
    title: [said.removeprefix("- ") for said in part.splitlines()[1:] if said]
    for part in (FOLDER / "frames.md").read_text(encoding="utf-8").split("\n## ")[1:]
    for title in [part.splitlines()[0]]
}
_GIVEN = "$n: int, $x: str, $y: str, $names: list, $people: list, $done: bool"
_AROUND = """

## Find($q)
- Return $q

## Tasting
meeting: true
required_attendees: [Cook, Waiter]
### Steps
- Say "Welcome."

# Cook
A cook.

# Waiter
A waiter.
"""


@pytest.mark.parametrize("frame", TABLE["frames"])
async def test_what_governs_a_step_is_a_typed_part_of_it_or_the_step_is_free(frame: str) -> None:
    parts, _, step = frame.partition(": ")
    beside = [(said, text) for part in parts.split(", ") for said in TABLE[part] for text in _places(step, said)]
    plain, *read = await _read([step, *(text for _, text in beside)])
    lost = [text for (said, text), parts in zip(beside, read, strict=True) if _is_lost(said, parts, plain)]
    assert lost == []


async def test_what_belongs_to_a_message_a_value_or_a_condition_governs_no_step() -> None:
    assert await done_otherwise(FOLDER / "programs.md") == []


def _places(step: str, said: str) -> list[str]:
    return [f"{step} {said}", f"{step}, {said}", f"{said[0].upper()}{said[1:]}, {step[0].lower()}{step[1:]}"]


async def _read(steps: list[str]) -> list[list[Meaning]]:
    """What each step is, in a playbook of its own."""
    playbooks = "\n\n".join(f"## P{at}({_GIVEN})\n### Steps\n- {step}" for at, step in enumerate(steps))
    source = read_text(f"# Desk\nYou help.\n\n{playbooks}{_AROUND}", "desk.pb")
    result = await compile_parsed(parse(source), lowerer=RulesLowerer())
    read = [
        [part for step in one.walk_steps() for part in decode(step).parts] for one in result.program.agents[0].playbooks
    ]
    return read[: len(steps)]


def _is_lost(said: str, parts: list[Meaning], plain: list[Meaning]) -> bool:
    """Whether a step with these words does the same as one without, or has them where only a model reads them."""
    if any(isinstance(part, Free) for part in parts):
        return False
    return parts == plain or any(said.casefold() in text.casefold() for part in parts for text in _words(part))


def _words(part: Meaning) -> list[str]:
    """What a model reads for a part, but for a condition, which it decides as a whole."""
    match part:
        case Say(words=Prose(text=text)) | Ask(words=Prose(text=text)) | Think(about=Prose(text=text)):
            return [text] if not isinstance(part, Ask) or part.until is None else []
        case Set(value=Prose(text=text)) | Return(value=Prose(text=text)) | StepGroup(text=text):
            return [text]
        case Call():
            return [part.instruction, *(one.value.text for one in part.arguments if isinstance(one.value, Prose))]
    return []
