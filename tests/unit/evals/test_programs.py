"""The programs are sound: what a model gets wrong in them is not the author's mistake."""

from __future__ import annotations

import pytest

from evals.run import PROGRAMS
from evals.talks import Case, cases, read_call
from runtime.language.compiler import compile_program
from runtime.language.lowering.rules import RulesLowerer

ALL = cases(*PROGRAMS)
pytestmark = pytest.mark.anyio


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
