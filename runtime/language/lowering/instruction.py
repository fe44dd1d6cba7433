"""The lowered form of a step in prose, and the readings of its parts."""

from __future__ import annotations

from collections.abc import Callable

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
    """A classified step. `body` is what its sentence does if the condition holds, `after` what comes behind it in the
    step; `reason` says why it is not `known`, and with `whole` the steps below it belong to its text."""

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


def waiting_call(call: str) -> LoweredInstruction:
    """A call whose result is waited for."""
    return LoweredInstruction(OpCode.QUE, f"{call}; YLD for call")


def waits_for(found: LoweredInstruction, target: str) -> bool:
    """Whether an instruction only waits for an answer of the last addressee."""
    whom = target if target in ("user", "meeting") else f"agent {target}"
    return found.op is OpCode.YLD and f"{found.text} ".startswith((f"for {whom} ", f"for {whom};"))


def with_words(talk: LoweredTalk, more: str, *, asks: bool) -> LoweredTalk:
    """The speech with further words."""
    return replace(talk, said=f"{talk.said}{more}", asks=talk.asks or asks)


_MOST_CHARS = 25_000
"""The characters of a step's parts that are read, all together: each way to cut a sentence in two is tried."""


class _TooManyParts(Exception):
    """A step has so many parts that reading all of them would take very long."""


class PartReadings:
    """Reads a step with `read`, which asks again here for the parts of the step."""

    def __init__(self, read: Callable[[str, bool], LoweredInstruction]) -> None:
        self._read = read
        self._known: dict[tuple[str, bool], LoweredInstruction] = {}
        self._depth = 0
        self._chars = 0

    def of(self, text: str, *, whole: bool) -> LoweredInstruction:
        """The meaning of a step, or of a part of the one that is being read. A step with too many parts is free."""
        if self._depth:
            self._chars += len(text)
            if self._chars > _MOST_CHARS:
                raise _TooManyParts
            return self._part(text, whole)
        self._known.clear()
        self._chars = 0
        try:
            return self._part(text, whole)
        except _TooManyParts:
            return free(text, "it has too many parts to be read for certain", whole=True)

    def _part(self, text: str, whole: bool) -> LoweredInstruction:
        key = (text, whole)
        if key not in self._known:
            self._known[key] = free(text, "it is a part of itself")  # for a part that is put together to it again
            self._depth += 1
            try:
                self._known[key] = self._read(text, whole)
            finally:
                self._depth -= 1
        return self._known[key]
