"""The reading of PBAsm that a lowerer wrote, held against its source."""

from __future__ import annotations

from runtime.core.errors import CompileError
from runtime.language.diagnostics import DiagnosticList, ProgramRejected
from runtime.language.lowering.checks.source_check import compare, relocate
from runtime.language.pbasm.notation import read_agent
from runtime.language.program import AgentSpec
from runtime.language.syntax.nodes import ParsedAgent
from runtime.language.syntax.parser import parse
from runtime.language.syntax.source import read_text


def read_lowered(text: str, agent: ParsedAgent) -> AgentSpec:
    """The agent that a lowerer wrote, with the places of its source. Raises CompileError with one line for every
    difference.
    """
    try:
        parsed = parse(read_text(text, f"{agent.name}.pbasm"))
        problems = DiagnosticList()
        specs = [read_agent(each, problems) for each in parsed.agents]
        problems.stop_if_any()
    except ProgramRejected as error:
        raise CompileError(f"{agent.name} was compiled to something that is not PBAsm:\n{error}") from error
    differences = compare(agent, specs)
    if differences:
        raise CompileError(f"{agent.name} was compiled to something else:\n" + "\n".join(differences))
    return relocate(agent, specs[0])
