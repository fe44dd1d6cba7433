"""What is wrong with a program: its errors or all of its warnings, with their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.core.errors import ParleyError
from runtime.language.diagnostics import Diagnostic, ProgramRejected, Span

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from gateway.settings.tree import Settings
    from runtime.language.compiler import CompileResult


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

    from runtime.language.compiler import compile_program
    from runtime.language.lowering.rules import RulesLowerer

    async def compiled() -> CompileResult:
        return await compile_program(program, lowerer=RulesLowerer())

    try:
        result = anyio.run(compiled)
        return warnings_of(result, calls), result
    except ProgramRejected as rejected:
        return rejected.diagnostics, None
    except ParleyError as error:
        return [_failure(program, str(error))], None
    except RecursionError:
        return [_failure(program, "this program is too deeply nested")], None
    except Exception as error:  # noqa: BLE001 - a fault of the checker's own must not reach its user as a traceback
        hint = "This is a fault of Parley, not of the program: please report it with the program."
        return [_failure(program, f"the check failed: {type(error).__name__}: {error}", hint)], None


def _failure(program: Sequence[Path], message: str, hint: str = "") -> Diagnostic:
    return Diagnostic(message, Span(str(program[0]), 1), hint=hint)


def refuse_errors(program: Sequence[Path], calls: Collection[str]) -> None:
    """Raise ProgramRejected for a program with errors, also where it could be compiled."""
    if errors := [one for one in checked(program, calls)[0] if one.severity == "error"]:
        raise ProgramRejected(errors)
