"""What a model made of free steps stands beside the program, and counts while the step and what is around it stay."""

from datetime import date
from pathlib import Path

import pytest

from runtime.core.errors import LLMUnavailable
from runtime.events.frames import LLMAnswered
from runtime.events.happening import Happening, unheard
from runtime.language.compiler import CompileResult, compile_program
from runtime.language.diagnostics import ProgramRejected
from runtime.language.locking.lock_file import LockedStep, lock_path, lock_text, read_locks
from runtime.language.locking.locked_steps import LockedProgram, ask_for_locks
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_paths
from tests.fakes.models.answering import ListedAnswers

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
LOOP = "Clerk.Main:03:CND Repeat 3 times\nClerk.Main:03.01:EXE Frobnicate the gizmo\nClerk.Main:03.02:JMP 03"
MULL = "Cook.Bake:01:TNK Mull over how to reason with the oven"
DAY = date(2026, 1, 31)


async def locked(folder: Path, *answers: str, text: str = SOURCE) -> LockedProgram:
    """Ask for the locks of a program, and write them beside it, as `parley compile --lock` does."""
    file = folder / "shop.pb"
    file.write_text(text)
    source = read_paths([file])
    found = await ask_for_locks(parse(source), read_locks(source.files), ListedAnswers(*answers), unheard, DAY)
    lock_path(file).unlink(missing_ok=True)
    if entries := found.locks.get(str(file)):
        lock_path(file).write_text(lock_text(entries))
    return found


async def compiled(folder: Path, text: str | None = None, *, with_locks: bool = True) -> CompileResult:
    if text is not None:
        (folder / "shop.pb").write_text(text)
    return await compile_program([folder / "shop.pb"], lowerer=RulesLowerer(), with_locks=with_locks)


def free(result: CompileResult) -> list[str]:
    return [note.text for note in result.report.unclassified]


async def test_free_steps_of_all_agents_are_asked_for_in_one_request(
    tmp_path: Path,
) -> None:
    (tmp_path / "shop.pb").write_text(SOURCE)
    model = ListedAnswers(f"{SEAT}\n- {MULL}\n")
    told: list[Happening] = []
    found = await ask_for_locks(parse(read_paths([tmp_path / "shop.pb"])), {}, model, told.append, DAY)
    assert [note.text for note in found.free] == ["Frobnicate the gizmo 3 times"]
    (task,) = [request.messages[-1].content for request in model.asked]
    assert "Clerk.Main:02 Seat the guest at once\nClerk.Main:03 Frobnicate" in task
    assert "Greet the user\n" not in task.partition("Decide these steps")[2]
    assert [type(one) for one in told] == [LLMAnswered]


async def test_a_locked_program_means_the_same_without_a_model_and_with_other_rows_in_between(tmp_path: Path) -> None:
    await locked(tmp_path, f"{SEAT}\n{LOOP}\n{MULL}")
    result = await compiled(tmp_path, SOURCE.replace("# Cook", '## More\n- Say "Hi"\n\n# Cook'))
    assert free(result) == []
    assert "- 02:QUE Say(user, Seat the guest at once)" in result.program.pbasm
    assert "- 03:CND Repeat 3 times\n  - 03.01:EXE Frobnicate the gizmo\n  - 03.02:JMP 03" in result.program.pbasm
    assert [(note.playbook, note.line) for note in result.report.decided] == [
        ("Main", "02"),
        ("Main", "03"),
        ("Bake", "01"),
    ]
    assert result.warnings == ()
    assert len(free(await compiled(tmp_path, SOURCE, with_locks=False))) == 3


async def test_a_step_that_moves_keeps_its_reading_with_its_new_number(tmp_path: Path) -> None:
    await locked(tmp_path, LOOP)
    moved = SOURCE.replace("- Greet the user\n", '- Say "A"\n- Greet the user\n')
    assert (
        "- 04:CND Repeat 3 times\n  - 04.01:EXE Frobnicate the gizmo\n  - 04.02:JMP 04"
        in (await compiled(tmp_path, moved)).program.pbasm
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Seat the guest at once", "Seat the guest at last"),
        ("- Greet the user\n", "- Send everybody away\n"),
        ("- Greet the user\n- Seat the guest at once", "- If it rains\n  - Seat the guest at once"),
        ("## Main", "## Main($table)"),
    ],
    ids=["its words", "the step before", "the step above", "the heading"],
)
async def test_a_reading_counts_no_more_when_something_around_it_changes(tmp_path: Path, old: str, new: str) -> None:
    await locked(tmp_path, SEAT)
    assert "Seat the guest at once" not in free(await compiled(tmp_path))
    result = await compiled(tmp_path, SOURCE.replace(old, new))
    assert any(text.startswith("Seat the guest") for text in free(result))
    (warning,) = [one for one in result.warnings if one.span.file.endswith("shop.pb.lock")]
    assert warning.message == 'nothing uses this entry for Clerk.Main: "Seat the guest at once"'
    assert warning.span.line == (tmp_path / "shop.pb.lock").read_text().split("\n").index("[[step]]") + 1


async def test_entries_that_hold_are_not_asked_for_again_and_others_go(tmp_path: Path) -> None:
    await locked(tmp_path, f"{SEAT}\n{MULL}")
    before = (tmp_path / "shop.pb.lock").read_text()
    changed = SOURCE.replace("the oven", "the stove")
    await locked(tmp_path, LOOP, text=changed)
    after = (tmp_path / "shop.pb.lock").read_text()
    assert "Mull over" not in after
    assert before.partition('[[step]]\nplaybook = "Cook')[0].strip() in after
    assert "Frobnicate the gizmo 3 times" in after


async def test_a_program_without_free_steps_asks_nobody_and_has_an_empty_lock(tmp_path: Path) -> None:
    found = await locked(tmp_path, text="# A\n\n## Main\n- Greet the user\n")
    assert found == LockedProgram({}, ())


async def test_a_model_that_cannot_be_asked_is_an_error_and_changes_nothing(tmp_path: Path) -> None:
    await locked(tmp_path, f"{SEAT}\n{LOOP}")
    before = (tmp_path / "shop.pb.lock").read_text()
    with pytest.raises(LLMUnavailable):
        await locked(tmp_path)
    assert (tmp_path / "shop.pb.lock").read_text() == before


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
        "Clerk.Main:02:JMP 01",
        "Clerk.Main:02:FOO Seat the guest at once",
        "Clerk.Main:02:YLD for exit",
        "Clerk.Main:02:QUE Seat the guest at once",
        "Clerk.Main:02:YLD for user; seat the guest at once",
        "Clerk.Main:02:QUE Say(user, Seat the guest at once); YLD for meeting; Seat($cook)",
        f"{SEAT}\n{SEAT.replace('02', '02')}",
    ],
)
async def test_an_answer_that_loses_or_invents_something_is_not_kept(tmp_path: Path, answer: str) -> None:
    found = await locked(tmp_path, answer)
    assert found.locks == {}
    assert len(found.free) == 3


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
    assert (await locked(tmp_path, f"Desk.Main:01:{answer}", text=text)).locks == {}


async def test_a_lock_that_was_changed_by_hand_is_held_against_the_step_as_an_answer_is(tmp_path: Path) -> None:
    await locked(tmp_path, MULL)
    lock = tmp_path / "shop.pb.lock"
    lock.write_text(lock.read_text().replace(":TNK Mull over how to reason with the oven", ":YLD for exit"))
    result = await compiled(tmp_path)
    assert "YLD for exit" not in result.program.pbasm
    assert "Mull over how to reason with the oven" in free(result)
    assert [one.span.file for one in result.warnings] == [str(lock)]


@pytest.mark.parametrize(
    "text",
    [
        "version = 2\n",
        "<<<<<<< ours\n",
        'version = 1\n[[step]]\nplaybook = "A.Main"\n',
        "version = 1\nstep = 5\n",
        "\xff",
    ],
)
async def test_a_lock_that_cannot_be_read_is_an_error_that_says_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / "shop.pb").write_text(SOURCE)
    (tmp_path / "shop.pb.lock").write_bytes(text.encode("latin-1"))
    with pytest.raises(ProgramRejected, match=r"shop\.pb\.lock:1:1: .*cannot be read(.|\n)*parley compile --lock"):
        await compiled(tmp_path)


def test_every_character_of_a_step_comes_back_out_of_its_lock(tmp_path: Path) -> None:
    strange = 'Mull over "quotes", \\ back, tab\there, ünï, 😀, \x00 and \x7f'
    entry = LockedStep("A.Main", strange, "c", (f":TNK {strange}", ".01:JMP @"), "m", DAY, "r")
    (tmp_path / "a.pb.lock").write_text(lock_text([entry, entry]))
    assert read_locks([str(tmp_path / "a.pb")]) == {str(tmp_path / "a.pb"): (entry, entry)}
