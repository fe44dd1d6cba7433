"""The work that long and repetitive programs make: counted, in calls of functions."""

import sys
from collections.abc import Callable, Mapping

import anyio
import pytest

from runtime.language.compiler import CompileResult, compile_parsed
from runtime.language.diagnostics import ProgramRejected
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.syntax.listing import MAX_CHARS
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text

MOST = 600_000
"""The calls that one step may take, however it is written."""

STEPS: Mapping[str, Callable[[int], str]] = {
    "names to set": lambda n: f"Set {' and '.join(f'$v{i}' for i in range(n))} and $z to 1",
    "names to set, commas": lambda n: f"Set {', '.join(f'$v{i}' for i in range(n))} and $z to 1",
    "values to set": lambda n: "Set $a to 1" + ", $b to 2" * n,
    "one name asked for": lambda n: f"Ask for {', '.join(['$a'] * n)}",
    "names asked for": lambda n: f"Ask the user for {' and '.join(f'$a{i}' for i in range(n))}",
    "spaces": lambda n: f"Say{' ' * n}x",
    "spaces in quotes": lambda n: f'Say "{" " * n}x"',
    "conditions": lambda n: f"If {' and '.join(f'$a{i} is 3' for i in range(n))}, say x",
    "values of a condition": lambda n: f"If $x is {' or '.join(map(str, range(n)))}, say x",
    "commas behind a condition": lambda n: f"If $a is 3, {', '.join(f'word{i}' for i in range(n))}",
    "conditions in a row": lambda n: f"{'If $a, ' * n}say x",
    "conditions behind": lambda n: f"Say x{' unless $y' * n}",
    "other sides": lambda n: f"If $a, say x{', otherwise say y' * n}",
    "words": lambda n: f"Tell the user {'word ' * n}",
    "people": lambda n: f"Tell {'Alice and ' * n}Bob to go",
    "commas": lambda n: f"Say hello{', ' * n}x",
    "open brackets": lambda n: f"Say hello {'(' * n}",
    "brackets": lambda n: f"Set $x to {'(' * n}1{')' * n}",
    "calls in each other": lambda n: f"Set $x to {'Go(' * n}1{')' * n}",
    "calls": lambda n: f"Call Go(){' and call Go()' * n}",
    "quotes": lambda n: "Say " + '"a" ' * n,
    "apostrophes": lambda n: "Say " + "'a " * n,
    "dollars": lambda n: f"Set {'$' * n}a to 1",
    "variables": lambda n: "$a " * n,
    "digits": lambda n: f"Set $x to {'1' * n}",
    "numbers": lambda n: f"Set $x to {'1,' * n}1",
    "and": lambda n: f"Say {'and ' * n}x",
    "then": lambda n: f"{'then ' * n}say x",
    "sums": lambda n: f"Set $x to {' + '.join(['$a'] * n)}",
    "sentences": lambda n: "Say x. " * n,
    "parts": lambda n: "Say x; " * n,
    "loops": lambda n: f"For each $x in $y{', say $x' * n}",
    "waits": lambda n: f"Wait for {'the user and ' * n}Bob",
    "results": lambda n: f"Return {', '.join(['$a'] * n)}",
}


async def compiled(steps: str) -> CompileResult:
    program = f"# Desk\n\n## Go()\n### Steps\n{steps}\n"
    return await compile_parsed(parse(read_text(program, "p.pb")), lowerer=RulesLowerer())


def work(steps: str) -> int:
    """The calls that are made to compile steps, or to refuse them."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        anyio.run(compiled, steps)
    except ProgramRejected:
        pass
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("form", STEPS)
def test_a_step_takes_bounded_work_however_often_its_parts_repeat(form: str) -> None:
    assert all(work(f"- {STEPS[form](times)}") < MOST for times in (16, 100))


def test_twice_the_steps_take_twice_the_work() -> None:
    once, twice = (
        work("\n".join(f"- If $a{i} is at least {i} and $b is not empty, say that it is {i}" for i in range(count)))
        for count in (50, 100)
    )
    assert twice < 2.1 * once


async def test_a_step_that_is_too_long_is_an_error_with_its_line_and_what_to_do() -> None:
    with pytest.raises(ProgramRejected) as caught:
        await compiled(f"- Say hello\n- Say {'so ' * 2_000}")
    assert f"p.pb:6:3: error: this step has 6,003 characters, and a step may have {MAX_CHARS:,}" in str(caught.value)
    assert "Split it into several steps." in str(caught.value)
    assert len(str(caught.value)) < 1_000


async def test_a_long_gap_in_a_step_is_an_error_with_its_line() -> None:
    with pytest.raises(ProgramRejected, match=r"p\.pb:6:3: error: this step has more than 40 spaces in a row"):
        await compiled(f"- Say hello\n- Say{' ' * 20_000}hello")


async def test_spaces_at_the_end_of_a_step_are_no_gap() -> None:
    assert "01:QUE Say(user, Say hello)" in (await compiled(f"- Say hello{' ' * 20_000}")).program.pbasm


async def test_a_step_with_too_many_parts_is_left_free_as_a_whole() -> None:
    (note,) = (await compiled(f"- Ask for {', '.join(['$a'] * 500)}")).report.unclassified
    assert note.reason == "it has too many parts to be read for certain"


async def test_parts_within_parts_that_are_too_deep_for_a_list_are_left_free() -> None:
    result = await compiled(f"- Say x{' unless $y' * 19}")
    assert [note.reason for note in result.report.unclassified] == ["it has too many parts within each other"]


async def test_several_names_get_the_same_value() -> None:
    assert "01:EXE Set $a, $b and $c to 1\n" in (await compiled("- Set $a, $b and $c to 1")).program.pbasm
