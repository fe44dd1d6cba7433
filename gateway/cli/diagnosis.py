"""What is said about a program that can be used: all of its warnings, each with its line."""

from __future__ import annotations

from dataclasses import replace
from linecache import getline
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.language.compiler import CompileResult
    from runtime.language.diagnostics import Diagnostic


def warnings_of(result: CompileResult) -> list[Diagnostic]:
    """The warnings about a compiled program, file by file in the order of their lines."""
    from runtime.execution.frames.signatures import SIGNATURES
    from runtime.language.doubts import doubts

    unclassified = [step.warning for step in result.report.unclassified]
    found = [*result.warnings, *unclassified, *doubts(result.program, SIGNATURES)]
    return [_with_its_line(one) for one in sorted(found, key=lambda one: (one.span.file, one.span.line))]


def _with_its_line(found: Diagnostic) -> Diagnostic:
    line = getline(found.span.file, found.span.line).rstrip("\r\n")
    return replace(found, source_line=line or found.source_line)
