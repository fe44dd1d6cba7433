"""`parley compile --explain`: each line beside what the runtime does alone and what it asks."""

import io
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gateway.cli.output.explanation import say_explanation
from gateway.programs.explanation import explanation_of
from runtime.events.happening import unheard
from runtime.language.compiler import compile_parsed, compile_program
from runtime.language.locking.locked_steps import ask_for_locks
from runtime.language.lowering.rules import RulesLowerer
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_paths
from tests.fakes.models.answering import ListedAnswers

EXAMPLES = Path(__file__).parents[4] / "examples"

SHOP = """\
# Shop

```python
@playbook
async def Ship(street: str, count: int) -> None:
    pass
```

## Main
### Triggers
- At the beginning
### Steps
- Ask the user for their $street:str,
  kindly
- Ship(street=$street)
- If they seem happy
  - Say "Thank you, {street}."
- Dance; then sing
- End program

## Help
### Triggers
- When the user asks for help
### Steps
- Tell the user what you sell

## Chat
execution_mode: react
### Steps
- Talk about bread
"""


async def _explained(directory: Path) -> list[dict[str, Any]]:
    file = directory / "shop.pb"
    file.write_text(SHOP)
    return explanation_of((await compile_program([file], lowerer=RulesLowerer())).program)


def _kinds(playbook: dict[str, Any]) -> dict[str, list[str]]:
    return {line["location"]: [part["kind"] for part in line["parts"]] for line in playbook["lines"]}


async def test_each_line_says_what_is_asked_and_what_is_not(tmp_path: Path) -> None:
    _, main, help_, chat = await _explained(tmp_path)
    assert _kinds(main) == {
        "T1:BGN": ["alone"],
        "01:QUE": ["words", "alone", "value"],
        "02:QUE": ["value", "alone"],
        "03:CND": ["choice"],
        "03.01:QUE": ["alone"],
        "04:EXE": ["free"],
        "05:YLD": ["alone"],
    }
    assert _kinds(help_) == {"T1:EVT": ["choice"], "01:QUE": ["words"]}
    assert _kinds(chat) == {"01:EXE": ["free"]}


async def test_a_line_has_its_authors_words_and_why_it_is_free(tmp_path: Path) -> None:
    _, main, _, chat = await _explained(tmp_path)
    lines = {line["location"]: line for line in main["lines"]}
    assert lines["01:QUE"]["words"] == "Ask the user for their $street:str, kindly"
    assert lines["01:QUE"]["line"] == 13
    assert lines["02:QUE"]["parts"][0]["does"] == "The argument count, unless $count is set."
    assert lines["04:EXE"]["parts"][0]["why"] == "it has several clauses, one of which is prose"
    assert chat["lines"][0]["parts"][0]["why"] == "the playbook is executed in react mode, where steps are guidance"


async def test_why_a_step_is_free_is_what_the_check_says(tmp_path: Path) -> None:
    file = tmp_path / "desk.pb"
    file.write_text("# Desk\n\n## Main\ncli_entry: true\n- Ask $first to begin\n")
    result = await compile_program([file], lowerer=RulesLowerer())
    [free] = result.report.unclassified
    [line] = explanation_of(result.program, result.report)[0]["lines"]
    assert free.reason
    assert line["parts"] == [{"kind": "free", "does": line["parts"][0]["does"], "why": free.reason}]


@pytest.mark.parametrize(("code", "kind"), [("from datetime import date", "alone"), ("import math", "words")])
async def test_python_in_braces_that_nothing_defines_is_left_to_a_model(tmp_path: Path, code: str, kind: str) -> None:
    file = tmp_path / "clock.pb"
    python = f"```python\n{code}\n```\n"
    file.write_text(f'# Clock\n{python}\n## Main\ncli_entry: true\n- Say "It is {{date.today():%Y}}"\n')
    result = await compile_program([file], lowerer=RulesLowerer())
    [line] = explanation_of(result.program, result.report)[0]["lines"]
    assert [part["kind"] for part in line["parts"]] == [kind]


async def test_a_terminal_shows_the_kinds_in_colour_and_a_pipe_does_not(tmp_path: Path) -> None:
    explained = await _explained(tmp_path)
    terminal, pipe = io.StringIO(), io.StringIO()
    say_explanation(explained, Console(file=terminal, force_terminal=True, color_system="standard", width=100))
    say_explanation(explained, Console(file=pipe))
    assert "\x1b[35mchoice\x1b[0m" in terminal.getvalue()
    assert "\x1b" not in pipe.getvalue()
    assert "03     If they seem happy" in pipe.getvalue()


async def test_what_a_model_decided_is_told_from_what_the_rules_did(tmp_path: Path) -> None:
    file = tmp_path / "desk.pb"
    file.write_text("# Desk\n\n## Main\n- Greet the user\n- Seat the guest at once and then\n  - Smile\n")
    model = ListedAnswers("Desk.Main:02:QUE Say(user, Seat the guest at once and then)")
    parsed = parse(read_paths([file]))
    locks = (await ask_for_locks(parsed, {}, model, unheard, date(2026, 1, 1))).locks
    result = await compile_parsed(parsed, lowerer=RulesLowerer(), locks=locks)
    explained = explanation_of(result.program, result.report)
    assert [(line["location"], line["by"]) for line in explained[0]["lines"]] == [
        ("01:QUE", "rules"),
        ("02:QUE", "model"),
        ("02.01:EXE", "rules"),
    ]
    terminal, pipe = io.StringIO(), io.StringIO()
    say_explanation(explained, Console(file=terminal, force_terminal=True, color_system="standard", width=200))
    say_explanation(explained, Console(file=pipe))
    assert "\x1b[1;31m (decided by a model)" in terminal.getvalue()
    assert pipe.getvalue().count("(decided by") == 3


async def test_codes_and_what_they_add_to_loops_are_shown_on_demand(tmp_path: Path) -> None:
    file = tmp_path / "desk.pb"
    file.write_text("# Desk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n- While $n < 3\n  - Add 1 to $n\n")
    explained = explanation_of((await compile_program([file], lowerer=RulesLowerer())).program)
    plain, with_codes = io.StringIO(), io.StringIO()
    say_explanation(explained, Console(file=plain))
    say_explanation(explained, Console(file=with_codes), codes=True)
    places = [[row.split()[0] for row in one.getvalue().splitlines()[1:]] for one in (plain, with_codes)]
    assert places == [["T1", "01", "01.01"], ["T1:BGN", "01:CND", "01.01:EXE", "01.02:JMP"]]


async def test_where_no_model_was_asked_nobody_is_named_as_having_decided(tmp_path: Path) -> None:
    pipe = io.StringIO()
    say_explanation(await _explained(tmp_path), Console(file=pipe))
    assert "decided" not in pipe.getvalue()


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.pb")), ids=lambda path: path.stem)
async def test_every_line_of_the_examples_is_explained(example: Path) -> None:
    program = (await compile_program([example], lowerer=RulesLowerer())).program
    for playbook in explanation_of(program):
        for line in playbook["lines"]:
            assert line["parts"], f"{playbook['playbook']}:{line['location']}"
            assert all(part["does"] and ("why" in part) is (part["kind"] == "free") for part in line["parts"])


async def test_a_line_beside_numbered_steps_has_its_own_words_alone(tmp_path: Path) -> None:
    file = tmp_path / "numbered.pb"
    file.write_text(
        "# Clerk\n\n## Main\n### Triggers\n- At the beginning\n### Steps\n"
        "1. For each $x in $xs\n   1. $n += $x\n   2. If $n > 3,\n      say it\n      a. Break\n"
    )
    [playbook] = explanation_of((await compile_program([file], lowerer=RulesLowerer())).program)
    words = [line["words"] for line in playbook["lines"]]
    assert words[:4] == ["At the beginning", "For each $x in $xs", "$n += $x", "If $n > 3, say it"]


async def test_a_jump_that_its_author_wrote_is_shown_and_that_of_a_loop_is_not(tmp_path: Path) -> None:
    file = tmp_path / "menu.pb"
    steps = "- Set $n to 1\n- While $n < 3\n  - Set $n to $n + 1\n- If $n is 3, go to step 1\n"
    file.write_text(f"# Menu\n\n## Main\ncli_entry: true\n{steps}")
    shown = io.StringIO()
    result = await compile_program([file], lowerer=RulesLowerer())
    say_explanation(explanation_of(result.program), Console(file=shown))
    assert "Go to 01." in shown.getvalue()
    assert "Go to 02." not in shown.getvalue()


async def test_a_loop_over_a_text_asks_a_model_what_its_parts_are(tmp_path: Path) -> None:
    path = tmp_path / "shop.pb"
    loops = "\n".join(
        f"- For each {each} in {over}\n  - Say {each}"
        for each, over in (("$word", "$text"), ("$word", '"a b"'), ("$letter", "$text"), ("$word", "$words"))
    )
    path.write_text(
        f'# Shop\n\n## Main\n- Set $text to "a b"\n- Set $words to ["a", "b"]\n- Add "c" to $words\n{loops}\n',
        encoding="utf-8",
    )
    result = await compile_parsed(parse(read_paths([path])), lowerer=RulesLowerer())
    rows = [line for line in explanation_of(result.program)[0]["lines"] if line["location"].endswith("CND")]
    assert [[part["kind"] for part in row["parts"]] for row in rows] == [
        ["value", "alone"],
        ["value", "alone"],
        ["alone"],
        ["alone"],
    ]
