"""The lowered form of a step in prose."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from runtime.language.program import OpCode


class LoweredTalk(Struct, frozen=True):
    """Words for somebody: the author's text, who hears it, who else does, and whether an answer is waited for."""

    target: str
    said: str
    others: tuple[str, ...] = ()
    asks: bool = False


class LoweredInstruction(Struct, frozen=True):
    """A classified step. `body` is what stands in the same sentence and is done when the condition holds, `after` what
    comes after the instruction in the same step; `reason` says why the step is not `known`, and with `whole` the steps
    below it belong to its text."""

    op: OpCode
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
    return LoweredInstruction(OpCode.EXE, text, known=False, reason=reason, whole=whole)


def waits_for(found: LoweredInstruction, target: str) -> bool:
    """Whether an instruction only waits for an answer of the last addressee."""
    whom = target if target in ("user", "meeting") else f"agent {target}"
    return found.op is OpCode.YLD and f"{found.text} ".startswith((f"for {whom} ", f"for {whom};"))


def with_words(talk: LoweredTalk, more: str, *, asks: bool) -> LoweredTalk:
    """The speech with further words."""
    return replace(talk, said=f"{talk.said}{more}", asks=talk.asks or asks)
