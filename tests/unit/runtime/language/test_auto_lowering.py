"""Rules first; what they leave free a model decides, checked, in one request a program."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runtime.core.errors import LLMUnavailable
from runtime.language.auto_lowering import AutoLowerer
from runtime.language.compiler import CompileResult, compile_program
from runtime.llm.client import Completion, CompletionRequest
from tests.unit.runtime.language.lowering.test_model import Answer, ScriptedModel

pytestmark = pytest.mark.anyio

SOURCE = """# Clerk

## Main
### Steps
- Greet the user
- Seat the guest at once
- Frobnicate the gizmo 3 times

## Find($q)
- Return $q

# Cook

## Bake
- Mull over how to reason with the oven
"""
SEAT = "Clerk.Main:02:QUE Say(user, Seat the guest at once)"


class Unreachable(ScriptedModel):
    """A model that cannot be asked."""

    @asynccontextmanager
    async def stream(self, request: CompletionRequest, /) -> AsyncIterator[Completion]:
        self.asked.append(request)
        if self.asked:
            raise LLMUnavailable("the line is down")
        yield Answer("")


async def compiled(folder: Path, model: ScriptedModel | None) -> CompileResult:
    (folder / "shop.pb").write_text(SOURCE)
    return await compile_program([folder / "shop.pb"], lowerer=AutoLowerer(model), cache_dir=folder / "cache")


def free(result: CompileResult) -> list[str]:
    return [note.text for note in result.report.unclassified]


async def test_free_steps_of_all_agents_are_decided_in_one_request(tmp_path: Path) -> None:
    model = ScriptedModel(f"{SEAT}\n- Cook.Bake:01:TNK Mull over how to reason with the oven\n")
    result = await compiled(tmp_path, model)
    assert "- 02:QUE Say(user, Seat the guest at once)\n- 03:EXE Frobnicate the gizmo 3 times" in result.program.pbasm
    assert "- 01:TNK Mull over how to reason with the oven" in result.program.pbasm
    assert free(result) == ["Frobnicate the gizmo 3 times"]
    assert len(model.asked) == 1
    task = model.asked[0].messages[-1].content
    assert "Clerk.Main:02 Seat the guest at once\nClerk.Main:03 Frobnicate" in task
    assert "Cook.Bake:01 Mull over how to reason with the oven" in task
    assert "Greet the user\n" not in task.partition("Decide these steps")[2]


async def test_decisions_are_kept_and_not_asked_for_again(tmp_path: Path) -> None:
    first = await compiled(tmp_path, ScriptedModel(SEAT))
    again = await compiled(tmp_path, ScriptedModel())
    assert again.program.pbasm == first.program.pbasm
    assert free(again) == free(first)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Sure! Here is the program.",
        "Clerk.Main:01:TNK Greet the user",
        "Clerk.Main:02:QUE Say(user, Praise the kitchen)\nClerk.Main:03:TNK Frobnicate 5 times",
        "Clerk.Main:02:QUE Say(Waiter, Seat the guest at once)",
        "Clerk.Main:02:QUE Seat(guest_at_once=1); YLD for call",
        "Clerk.Main:02:JMP 09 Seat the guest at once",
        "Clerk.Main:02:FOO Seat the guest at once",
        "Clerk.Main:02:YLD for exit",
        "Clerk.Main:02:QUE Seat the guest at once",
        "Clerk.Main:02:YLD for user; seat the guest at once",
        "Clerk.Main:02:QUE Say(user, Seat the guest at once); YLD for meeting; Seat($cook)",
        f"{SEAT}\n{SEAT.replace('02', '02')}",
    ],
)
async def test_an_answer_that_loses_or_invents_something_leaves_the_step_free(tmp_path: Path, answer: str) -> None:
    result = await compiled(tmp_path, ScriptedModel(answer))
    assert free(result) == [
        "Seat the guest at once",
        "Frobnicate the gizmo 3 times",
        "Mull over how to reason with the oven",
    ]
    assert "- 02:EXE Seat the guest at once" in result.program.pbasm


@pytest.mark.parametrize(
    "answer",
    [
        "QUE Pay(sum=Polish the brass until noon)",
        "QUE Pay(Polish the brass until noon); YLD for call",
        "QUE Say(user, Polish the brass until noon)",
        "TNK Polish the brass until noon",
        "RET Polish the brass until noon",
        "QUE Say(user, Polish the brass until noon); YLD for exit",
    ],
)
async def test_what_an_author_gave_no_reason_for_leaves_the_step_free(tmp_path: Path, answer: str) -> None:
    text = "# Desk\n\n## Main\n- Polish the brass until noon\n- End program\n\n## Pay($sum)\n- Return $sum\n"
    (tmp_path / "desk.pb").write_text(text)
    lowerer = AutoLowerer(ScriptedModel(f"Desk.Main:01:{answer}"))
    result = await compile_program([tmp_path / "desk.pb"], lowerer=lowerer)
    assert free(result) == ["Polish the brass until noon"]


async def test_the_report_says_which_steps_a_model_decided_also_out_of_the_cache(tmp_path: Path) -> None:
    first = await compiled(tmp_path, ScriptedModel(SEAT))
    again = await compiled(tmp_path, ScriptedModel())
    offline = await compiled(tmp_path, None)
    for result in (first, again):
        assert [(note.playbook, note.line, note.span.line) for note in result.report.decided] == [("Main", "02", 6)]
    assert offline.report.decided == ()


async def test_steps_may_be_taken_apart(tmp_path: Path) -> None:
    loop = "Clerk.Main:03:CND Repeat 3 times\nClerk.Main:03.01:EXE Frobnicate the gizmo\nClerk.Main:03.02:JMP 03\n"
    result = await compiled(tmp_path, ScriptedModel(loop))
    assert "- 03:CND Repeat 3 times\n  - 03.01:EXE Frobnicate the gizmo\n  - 03.02:JMP 03" in result.program.pbasm


async def test_without_a_model_everything_is_compiled_with_more_free_steps(tmp_path: Path) -> None:
    assert len(free(await compiled(tmp_path, None))) == 3


async def test_a_model_that_cannot_be_asked_is_asked_the_next_time(tmp_path: Path) -> None:
    down = Unreachable()
    offline = await compiled(tmp_path, down)
    assert len(free(offline)) == 3
    assert all(note.reason.endswith(", and the model could not be asked") for note in offline.report.unclassified)
    assert len(down.asked) == 1
    assert "Seat the guest at once" not in free(await compiled(tmp_path, ScriptedModel(SEAT)))
