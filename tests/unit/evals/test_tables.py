"""The evals' programs, entries, readings and meters are sound."""

import subprocess
import sys

import pytest

from evals.models import Measured, Meter, Scripted
from evals.readings import measure, read_now, requests, table
from evals.run import PROGRAMS
from evals.talks import Case, Reply, cases, read_call
from gateway.programs.second_reader import request_text
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer
from runtime.llm.client import ChatMessage, CompletionRequest
from tests.fakes.clock import FakeClock
from tests.fakes.models.answering import ListedAnswers

_ALL_OF_THE_RUNTIME = """
import importlib, pkgutil, sys, runtime
for module in pkgutil.walk_packages(runtime.__path__, "runtime."):
    if not module.name.endswith("main"):
        importlib.import_module(module.name)
sys.exit(", ".join(name for name in sys.modules if name.startswith(("gateway", "adapters"))) or None)
"""


@pytest.mark.parametrize("code", ["import evals.run", "import benchmarks.gateway.start", _ALL_OF_THE_RUNTIME])
def test_what_is_started_alone_loads_and_the_runtime_needs_nothing_above_it(code: str) -> None:
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert loaded.returncode == 0, loaded.stderr


def test_what_was_written_before_the_first_visible_character_counts_for_each_line() -> None:
    meter = Meter(FakeClock())
    meter.line_said()
    meter.wrote(30)
    meter.seen(4)
    meter.wrote(50)
    meter.seen(50)
    meter.line_said()
    meter.seen(12)
    assert meter.cost.unseen_chars == [26, 0]


def test_a_line_after_which_nothing_is_seen_has_no_figure() -> None:
    meter = Meter(FakeClock())
    meter.line_said()
    meter.wrote(30)
    meter.line_said()
    meter.seen(1)
    assert meter.cost.unseen_chars == [0]


async def test_a_measured_model_counts_requests_pieces_and_tokens() -> None:
    meter = Meter(FakeClock())
    request = CompletionRequest((ChatMessage("system", "Be brief."), ChatMessage("user", "Hi")))
    model = Measured(Scripted([Reply(text="Good day!")]), meter)
    async with model.stream(request) as completion:
        pieces = [piece async for piece in completion]
    assert "".join(pieces) == "Good day!"
    assert len(pieces) == 3
    cost = meter.cost
    assert (cost.calls, cost.chars_in, cost.chars_out, cost.uncounted) == (1, len("Be brief.Hi"), len("Good day!"), 1)


async def test_each_line_of_the_table_is_read_today_as_it_says_and_no_longer_as_it_was() -> None:
    rows = table()
    _, now = await read_now(rows)
    read = {
        row.line: next((one.does for one in lines if one.step == "01"), "")
        for row, lines in zip(rows, now, strict=True)
    }
    assert read == {row.line: row.right for row in rows}
    assert [row.line for row in rows if row.right == row.wrong] == []


async def test_each_line_is_shown_misread_once_and_the_measure_counts_what_is_named_and_suspected() -> None:
    asked = await requests()
    assert sorted(row.line for one in asked for row in one.wrong.values()) == sorted(row.line for row in table())
    for one in asked:
        shown = request_text(one.program, one.rows)
        for number, row in one.wrong.items():
            assert f"\nL{number} 01 {row.line} => {row.wrong}" in shown
    count = sum(len(one.wrong) for one in asked)
    right = sum(len(rows) for one in asked for rows in one.rows.values()) - count
    told: list[str] = []
    perfect = ["\n".join(f"L{number}: otherwise" for number in one.wrong) or "none" for one in asked]
    await measure(ListedAnswers(*perfect), asked, told.append)
    assert told[-1] == f"scripted: {count} of {count} misread lines named, 0 of {right} right lines suspected"
    await measure(ListedAnswers(*["L1: no"] * len(asked)), asked, told.append)
    named = sum(1 in one.wrong for one in asked)
    suspected = f"{len(asked) - named} of {right} right lines suspected"
    assert told[-1] == f"scripted: {named} of {count} misread lines named, {suspected}"


ALL = cases(*PROGRAMS)


def test_there_are_36_and_nobody_tunes_on_a_third() -> None:
    assert [(case.name[:2], case.unseen) for case in ALL] == [(f"{number:02}", number > 24) for number in range(1, 37)]


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
async def test_a_program_compiles_without_warnings_and_has_what_its_talk_checks(case: Case) -> None:
    result = await compile_program([case.program], lowerer=RulesLowerer())
    assert result.warnings == ()
    assert result.report.unclassified == ()
    agents = {agent.name: agent for agent in result.program.agents}
    assert set(case.talk.expect.spoke) <= agents.keys()
    python = {
        playbook.name: {param.name for param in playbook.params}
        for agent in agents.values()
        for playbook in agent.playbooks
        if playbook.kind == "python"
    }
    for call in map(read_call, case.talk.expect.called or []):
        assert call.arguments.keys() <= python[call.playbook]
    source = case.program.read_text(encoding="utf-8")
    for name in (*case.talk.expect.variables, *case.talk.expect.variables_match):
        assert f"${name.rpartition('.')[2]}" in source
