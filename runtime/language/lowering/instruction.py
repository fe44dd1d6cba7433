"""The lowered form of a step in prose."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.language.program import Op


@dataclass(frozen=True, slots=True)
class LoweredTalk:
    """Words for somebody: the author's text, who hears it, who else does, and whether an answer is waited for."""

    target: str
    said: str
    others: tuple[str, ...] = ()
    asks: bool = False


@dataclass(frozen=True, slots=True)
class LoweredInstruction:
    """A classified step. `body` is what stands in the same sentence and is done when the condition holds, `after` what
    comes after the instruction in the same step; `reason` says why the step is not `known`, and with `whole` the steps
    below it belong to its text."""

    op: Op
    text: str
    body: str | None = None
    loop: bool = False
    known: bool = True
    after: tuple[str, ...] = ()
    reason: str = ""
    whole: bool = False
    talk: LoweredTalk | None = None


def free(text: str, reason: str, *, whole: bool = False) -> LoweredInstruction:
    """A step that the rules leave as its author wrote it; with `whole` the steps below it are part of it."""
    return LoweredInstruction(Op.EXE, text, known=False, reason=reason, whole=whole)
