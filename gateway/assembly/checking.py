"""What is wrong with a program: its errors or all of its warnings, with their lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import structs

from runtime.core.errors import ParleyError
from runtime.language.diagnostics import Diagnostic, DiagnosticList, ProgramRejected, Span

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from gateway.settings.tree import Settings
    from runtime.language.compiler import CompileResult
    from runtime.language.syntax.nodes import ParsedProgram
    from runtime.language.syntax.source import ProgramText

_NAME = re.compile(r"\w+")
_DECLARED = re.compile(r"(?:\bdef\s+|^##?\s+(?:\w+:\s*(?=\S))?)([\w ]+)")
"""The name of a function, of an agent or of a playbook."""


def extension_names(settings: Settings) -> Collection[str]:
    """The names that extensions add for programs: of calls and of participants. Raises ConfigError."""
    from gateway.extensions.extension import load_extensions

    found = load_extensions(settings.extensions.modules)
    return {*found.calls, *(name for one in found.loaded for name in one.participants)}


def warnings_of(result: CompileResult, calls: Collection[str] = ()) -> list[Diagnostic]:
    """The warnings about a compiled program, file by file in the order of their lines. `calls` are those of
    extensions."""
    from gateway.built_in_calls import SIGNATURES
    from runtime.authoring.program import lint

    unclassified = [step.diagnostic for step in result.report.unclassified]
    found = [*result.warnings, *unclassified, *lint(result.program, {*SIGNATURES, *calls}, result.lines)]
    return sorted(found, key=lambda one: (one.span.file, one.span.line, one.span.column))


def checked(program: Sequence[Path], calls: Collection[str] = ()) -> tuple[Sequence[Diagnostic], CompileResult | None]:
    """The diagnostics of a program's files, compiled by the rules, and the result; None where it cannot be used.
    `calls` are those of extensions.

    Every failure is a diagnostic.
    """
    import anyio

    from runtime.language.syntax.source import read_paths

    try:
        return anyio.run(examined, read_paths(program), calls)
    except ProgramRejected as rejected:
        return rejected.diagnostics, None
    except ParleyError as error:
        return [_failure(program, str(error))], None
    except RecursionError:
        return [_failure(program, "this program is too deeply nested")], None
    except Exception as error:  # noqa: BLE001 - a fault of the checker's own must not reach its user as a traceback
        hint = "This is a fault of Parley, not of the program: please report it with the program."
        return [_failure(program, f"the check failed: {type(error).__name__}: {error}", hint)], None


async def examined(source: ProgramText, calls: Collection[str]) -> tuple[Sequence[Diagnostic], CompileResult | None]:
    """The diagnostics of a text, and its program, as `checked`. Where its structure is wrong, the errors of all that
    can be read nevertheless are among them. Raises ParleyError."""
    from runtime.language.compiler import compile_parsed
    from runtime.language.locking.lock_file import read_locks
    from runtime.language.lowering.rules import RulesLowerer
    from runtime.language.syntax.parser import parse_most

    problems = DiagnosticList()
    parsed = parse_most(source, problems)
    broken = bool(problems)
    first = {agent.name: agent for agent in reversed(parsed.agents)}
    parsed = structs.replace(parsed, agents=tuple(reversed(first.values())))
    found: Sequence[Diagnostic] = ()
    result = None
    try:
        result = await compile_parsed(parsed, lowerer=RulesLowerer(), locks=read_locks(source.files))
        found = warnings_of(result, calls)
    except ProgramRejected as rejected:
        found = rejected.diagnostics
    except Exception:
        if not broken:
            raise  # else it may follow from what is wrong already
    if not broken:
        return found, result
    missing = _missing(parsed)
    problems.take([one for one in found if one.severity == "error" and missing.isdisjoint(_NAME.findall(one.message))])
    return problems.errors(parsed.lines), None


def _missing(parsed: ParsedProgram) -> set[str]:
    """The names that the text declares and that the tree lacks: what is said of them follows from another error."""
    from runtime.language.syntax.signature import agent_name, playbook_name

    known = {*parsed.names, *(playbook.name for agent in parsed.agents for playbook in agent.playbooks)}
    declared = [found for line in parsed.lines.values() for found in _DECLARED.findall(line)]
    return {name(one) or "" for one in declared for name in (agent_name, playbook_name)} - known


def _failure(program: Sequence[Path], message: str, hint: str = "") -> Diagnostic:
    return Diagnostic(message, Span(str(program[0]), 1), hint=hint)


def refuse_errors(program: Sequence[Path], calls: Collection[str]) -> None:
    """Raise ProgramRejected for a program with errors, also where it could be compiled."""
    if errors := [one for one in checked(program, calls)[0] if one.severity == "error"]:
        raise ProgramRejected(errors)
