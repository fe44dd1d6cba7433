"""The port of a lowerer, which turns an agent of the syntax tree into a compiled one."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from runtime.language.diagnostics import Diagnostic, Span
from runtime.language.program import AgentSpec
from runtime.language.syntax.nodes import ParsedAgent, ParsedProgram
from runtime.language.vocabulary.phrase import probably_meant

NO_STEP = "there is no such step"


class UnclassifiedStep(Struct, frozen=True):
    """A step that stayed free: an EXE with the author's whole text. `reason` says why."""

    playbook: str
    line: str
    text: str
    span: Span
    source_line: str = ""
    reason: str = ""

    @property
    def diagnostic(self) -> Diagnostic:
        """The warning for the author; an error where no model can do what it says."""
        why, impossible = f": {self.reason}" if self.reason else "", self.reason == NO_STEP
        message = f"step {self.playbook}:{self.line} is left to a model{why}"
        meant = "" if impossible else probably_meant(self.text)
        otherwise = f"Did you mean {meant}?" if meant else "Reword it, or leave it to the model."
        width = max(0, len(self.source_line.rstrip()) - self.span.column + 1)
        return Diagnostic(
            f"step {self.playbook}:{self.line}: {self.reason}" if impossible else message,
            self.span,
            self.source_line,
            "Name one of this playbook's steps." if impossible else otherwise,
            "error" if impossible else "warning",
            width,
        )


class LoweringReport(Struct, frozen=True):
    """The steps that stayed free in a compilation, and those that the rules left free and a model `decided`."""

    unclassified: tuple[UnclassifiedStep, ...] = ()
    decided: tuple[UnclassifiedStep, ...] = ()


class LoweredAgent(Struct, frozen=True):
    """One agent as it is compiled."""

    spec: AgentSpec
    report: LoweringReport = LoweringReport()


class AgentLowerer(Protocol):
    """Raises ProgramRejected for what an agent's author wrote."""

    @property
    def fingerprint(self) -> str:
        """The inputs of its output besides the source: its name and version, prompt and model."""

    async def lower(self, source: ParsedAgent, program: ParsedProgram) -> LoweredAgent:
        """The compiled form of `source`, one of the agents of `program`."""
