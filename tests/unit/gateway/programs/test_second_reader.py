"""The second reader: a model names lines that it understands otherwise, and nothing else comes of it."""

from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from gateway.programs.reloading import ReloadResult
from gateway.programs.second_reader import SecondReader, SecondReading
from gateway.settings.tree import Settings, load
from runtime.core.background import ListenerList
from runtime.core.errors import LLMUnavailable
from runtime.events.happening import unheard
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.program import Program
from tests.fakes.models.answering import ListedAnswers, PiecedAnswer

SHOP = """\
# Shop

## Main
### Triggers
- At the beginning
### Steps
- Set $limits to [1, 500]
- Ask the user for $pizza,
  kindly
- If $pizza is "none", go to step 1
- Dance; then sing
- Tell Cook that $pizza is wanted

# Cook

## Bake($pizza)
public: true
- Return $pizza
"""


class Cut(PiecedAnswer):
    """An answer whose connection ends in the middle."""

    async def __aiter__(self) -> AsyncIterator[str]:
        async for piece in super().__aiter__():
            yield piece
        raise LLMUnavailable("the connection broke off")


class Endless(PiecedAnswer):
    """An answer that does not come."""

    async def __aiter__(self) -> AsyncIterator[str]:
        await anyio.sleep_forever()
        yield ""


async def compiled(*files: Path) -> Program:
    return (await compile_program(files, lowerer=RulesLowerer())).program


class Desk:
    """A folder with a program, and a model that reads it again."""

    def __init__(self, folder: Path, *answers: str | PiecedAnswer, text: str = SHOP, model: str = "") -> None:
        self.file = folder / "shop.pb"
        self.file.write_text(text)
        self.model = ListedAnswers(*answers, model="reader")
        environment = {"PARLEY_DATA_DIR": str(folder / "data"), **({"PARLEY_MODEL": model} if model else {})}
        self.settings: Settings = load(directory=folder, environment=environment)

    def reader(self, limit_s: float = 60) -> SecondReader:
        return SecondReader(self.settings, lambda: nullcontext(self.model), unheard, limit_s)

    async def read(self, limit_s: float = 60) -> SecondReading:
        return await self.reader(limit_s).read(await compiled(self.file))

    @property
    def shown(self) -> list[str]:
        """What the model was shown."""
        return [request.messages[-1].content for request in self.model.asked]


def places(reading: SecondReading) -> list[int]:
    return [one.span.line for one in reading.found]


async def test_the_model_is_shown_the_lines_beside_what_is_done_and_nothing_else(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "none")
    assert (await desk.read()).found == ()
    assert desk.shown == [
        "Playbooks: Shop.Main, Cook.Bake\n"
        "\nShop.Main\n"
        "L1 T1 At the beginning => Execute Main when the program begins.\n"
        "L2 01 Set $limits to [1, 500] => Set $limits to a list of 1 and 500.\n"
        "L3 02 Ask the user for $pizza, kindly => A message to the user: Ask the user for $pizza, kindly "
        "Wait for the user until $pizza is given. The answer: $pizza.\n"
        'L4 03 If $pizza is "none", go to step 1 => Execute the steps below if $pizza is "none". Go to 01.\n'
        "L5 05 Tell Cook that $pizza is wanted => A message to Cook: Tell Cook that $pizza is wanted\n"
        "\nCook.Bake\n"
        "L6 01 Return $pizza => Return $pizza."
    ]


async def test_what_the_model_names_is_a_warning_with_both_readings(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "L3: they want one pizza, and no other\n")
    [found] = (await desk.read()).found
    assert (found.severity, found.span.line, found.meant) == ("warning", 8, "Ask the user for $pizza,")
    assert "Wait for the user until $pizza is given." in found.hint
    assert found.hint.endswith("reader: they want one pizza, and no other")


@pytest.mark.parametrize(
    ("answer", "lines", "said"),
    [
        ("none", [], "reader has read 6 lines a second time."),
        ("**L2**: one number\n- L5 - the baker", [7, 12], "reader has read 6 lines a second time."),
        ("L0: x\nL7: y\nL2000: z", [], "Its answer names no line."),
        ("I think that all is well.\n1. The first step is fine.", [], "Its answer names no line."),
        ("", [], "Its answer names no line."),
        ("\n".join(f"L{number}: wrong" for number in range(1, 7)), [], "It doubts 6 lines of 6"),
        ("L2: a\nL2: b\nL2: c", [7], "reader has read 6 lines a second time."),
    ],
)
async def test_an_answer_of_any_form_is_read_for_lines_that_are_there(
    tmp_path: Path, answer: str, lines: list[int], said: str
) -> None:
    reading = await Desk(tmp_path, answer).read()
    assert places(reading) == lines
    assert said in reading.said


@pytest.mark.parametrize(
    ("answers", "limit_s", "said"),
    [
        ([Cut("L2: a number\nL3: th")], 60, "the connection broke off"),
        ([Endless("")], 0, "it takes longer than 0 s; second_reader = false in [programs] turns this off"),
        ([], 60, "the line is down"),
    ],
)
async def test_a_model_that_fails_names_nothing_and_is_asked_again(
    tmp_path: Path, answers: list[PiecedAnswer], limit_s: float, said: str
) -> None:
    reading = await Desk(tmp_path, *answers).read(limit_s)
    assert reading == SecondReading((), f"No model has read the program a second time: {said}.")
    assert places(await Desk(tmp_path, "L2: a number").read()) == [7]


async def test_a_model_that_is_too_slow_is_asked_no_more_by_the_same_process(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Endless(""), "L2: a number")
    reader = desk.reader(limit_s=0)
    for _ in range(2):
        assert (await reader.read(await compiled(desk.file))).found == ()
    assert len(desk.shown) <= 1


async def test_the_same_program_is_read_once_and_a_changed_one_or_another_model_again(tmp_path: Path) -> None:
    first = await Desk(tmp_path, "L2: a number").read()
    assert await Desk(tmp_path).read() == first  # a model that cannot be asked
    moved = await Desk(tmp_path, text=f"A shop.\n\n{SHOP}").read()
    assert places(moved) == [9]
    changed = Desk(tmp_path, "none", text=SHOP.replace("500", "5"))
    assert not (await changed.read()).found
    assert len(changed.shown) == 1
    assert not (await Desk(tmp_path, "none", model="openai/larger").read()).found


async def test_without_a_model_nothing_is_said(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    reader = SecondReader(desk.settings, lambda: nullcontext(None), unheard)
    assert await reader.read(await compiled(desk.file)) == SecondReading()


async def test_a_long_program_is_cut_between_playbooks(tmp_path: Path) -> None:
    steps = "".join(f'- Say "{number} {"word " * 150}"\n' for number in range(8))
    text = "# Shop\n" + "".join(f"\n## Part{number}\n{steps}" for number in range(8))
    desk = Desk(tmp_path, *(["none"] * 9), text=text)
    assert (await desk.read()).said == "reader has read 64 lines a second time in 3 requests."
    assert all(len(shown) < 45_000 for shown in desk.shown)
    assert sum(shown.count("\nShop.Part") for shown in desk.shown) == 8


async def test_a_part_that_fails_keeps_those_before_it_and_ends_what_is_asked(tmp_path: Path) -> None:
    steps = "".join(f'- Say "{number} {"word " * 150}"\n' for number in range(8))
    text = "# Shop\n" + "".join(f"\n## Part{number}\n{steps}" for number in range(8))
    desk = Desk(tmp_path, "L1: a word", Cut("none"), "none", "none", text=text)
    reading = await desk.read()
    assert reading.said.endswith("in 3 requests. Not all was read: the connection broke off.")
    assert (len(places(reading)), len(desk.shown)) == (1, 2)
    assert not (await desk.read()).said.count("Not all")
    assert len(desk.shown) == 4


async def test_a_program_has_one_file_for_each_request_however_often_it_changes(tmp_path: Path) -> None:
    for number in range(3):
        await Desk(tmp_path, "none", text=SHOP.replace("500", str(number))).read()
    assert len([*(tmp_path / "data" / "compiled").iterdir()]) == 1


async def test_a_doubt_is_cut_between_characters_and_nothing_in_it_steers_a_terminal(tmp_path: Path) -> None:
    family = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"
    [found] = (await Desk(tmp_path, f"L2: \x1b[2J\ud83d\ude00 \ud83d {family * 400}").read()).found
    assert found.hint.endswith(f"reader: 2J\N{GRINNING FACE} \ufffd {family * 294}")


async def test_each_line_of_a_program_of_two_files_has_its_own_file(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "L2: a number\nL7: a cake")
    other = tmp_path / "baker.pb"
    other.write_text("# Baker\n\n## Bake2\npublic: true\n- Return 1,500\n")
    reading = await desk.reader().read(await compiled(desk.file, other))
    assert [(Path(one.span.file).name, one.span.line) for one in reading.found] == [("shop.pb", 7), ("baker.pb", 5)]


async def test_what_is_served_is_read_beside_it_and_after_each_change(tmp_path: Path) -> None:
    desk = Desk(tmp_path, Cut("L2: x"), "L2: a number", "L3: asks for two")
    programs = {"shop": await compiled(desk.file)}
    done: ListenerList[ReloadResult] = ListenerList()
    reloading: Any = SimpleNamespace(done=done)
    send, receive = anyio.create_memory_object_stream[tuple[str, SecondReading]](10)

    def heard(name: str, reading: SecondReading) -> None:
        send.send_nowait((name, reading))

    async with send, receive, anyio.create_task_group() as tasks:
        tasks.start_soon(desk.reader().follow, programs, reloading, heard)
        assert (await receive.receive())[1].found == ()  # the connection broke off, and what is served is served
        done.tell(ReloadResult())
        assert places((await receive.receive())[1]) == [7]
        desk.file.write_text(SHOP.replace("kindly", "politely"))
        programs["shop"] = await compiled(desk.file)
        done.tell(ReloadResult())
        assert places((await receive.receive())[1]) == [8]
        programs["shop"] = await compiled(desk.file)
        done.tell(ReloadResult())  # the board has forgotten the warnings of what was served before
        assert places((await receive.receive())[1]) == [8]
        tasks.cancel_scope.cancel()
