"""The lowered form of a step in prose, and the readings of its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from runtime.language.diagnostics import Span
from runtime.language.instructions.actions import may_wait_for, talk_of
from runtime.language.instructions.decode import decode, with_all_lookups
from runtime.language.instructions.model import Instruction, VariableTarget
from runtime.language.instructions.talk import AnswerWait, TalkLine
from runtime.language.pbasm.notation import waiting_in_full
from runtime.language.program import OpCode, Step

ANY_ANSWER = "the user answered"


class LoweredTalk(Struct, frozen=True):
    """Words for somebody: the author's text, who hears it, who else does, and whether an answer is waited for."""

    target: str
    said: str
    others: tuple[str, ...] = ()
    asks: bool = False


class LoweredInstruction(Struct, frozen=True):
    """A classified step. `body` is what its sentence does if the condition holds, `after` what comes behind it in the
    step; `reason` says why it is not `known`, and with `whole` the steps below it belong to its text. `spoken` are
    its parts where it speaks or waits, and `talk` the author's words for them."""

    op: OpCode
    text: str
    body: str | None = None
    loop: bool = False
    known: bool = True
    after: tuple[str, ...] = ()
    reason: str = ""
    whole: bool = False
    talk: LoweredTalk | None = None
    spoken: TalkLine | None = None

    @property
    def does(self) -> Instruction:
        """What it does, apart from the steps below it."""
        return meaning_of(LoweredStep("", self.op, self.text, Span("", 0), spoken=self.spoken))

    @classmethod
    def written(cls, code: OpCode, said: str) -> LoweredInstruction:
        """The instruction that an author wrote in PBAsm."""
        said = waiting_in_full(code, said)
        yields = code is OpCode.YLD and may_wait_for(said.partition(";")[0])
        return cls(
            code, said, spoken=talk_of(f"YLD {said}" if yields else said) if yields or code is OpCode.QUE else None
        )

    def with_choices(self, kept: str, said: str, choices: Sequence[str]) -> LoweredInstruction | None:
        """A question for one value, `$name:str`, with the words for its choices; None for any other step."""
        name, spoken = kept[1:].partition(":")[0], None if self.after else self.spoken
        given = [(want.name, wait.until) for wait in spoken.waits for want in wait.wants] if spoken else []
        if spoken is None or given != [(name, "")]:
            return None
        wants = (VariableTarget(name, f"Literal[{', '.join(choices)}]"),)
        waits = tuple(replace(wait, wants=wants) for wait in spoken.waits)
        more = said if spoken.said.endswith(kept) else ""
        return speaking(replace(spoken, said=f"{spoken.said}{more}", waits=waits), self.talk)

    @property
    def ends(self) -> str:
        """What it ends behind its words, "exit" or "return"; "" where nothing."""
        return self.spoken.ends if self.spoken else ""


def speaking(line: TalkLine, talk: LoweredTalk | None = None) -> LoweredInstruction:
    """The instruction of a line that speaks or waits."""
    return LoweredInstruction(OpCode.QUE if line.targets else OpCode.YLD, line.text, talk=talk, spoken=line)


class LoweredStep(Step, frozen=True):
    """A step with the parts that it was made of, where it speaks or waits."""

    spoken: TalkLine | None = None

    @property
    def asked(self) -> AnswerWait | None:
        """The last wait, behind words; None where there is none."""
        spoken = self.spoken
        return spoken.waits[-1] if spoken and spoken.targets and spoken.waits and not spoken.ends else None

    def waits_for(self, asked: AnswerWait) -> LoweredStep | None:
        """The step as the wait for what was `asked` before it; None where it is no such wait alone."""
        waits = self.spoken.waits if self.spoken and not (self.spoken.targets or self.spoken.ends) else ()
        if [one.source for one in waits] != [asked.source]:
            return None
        until = "" if asked.until == ANY_ANSWER else asked.until
        wait = replace(asked, until=" and ".join(filter(None, (until, waits[0].until))))
        return self._saying(TalkLine(waits=(wait,)))

    def without_its_wait(self) -> LoweredStep:
        """The step without its last wait."""
        spoken = self.spoken or TalkLine()
        return self._saying(replace(spoken, waits=spoken.waits[:-1]))

    def _saying(self, spoken: TalkLine) -> LoweredStep:
        return replace(self, text=spoken.text, spoken=spoken)


def meaning_of(step: Step) -> Instruction:
    """What a step does: by the parts that it was made of, else by its text, which has its author's words."""
    if isinstance(step, LoweredStep) and step.spoken:
        return Instruction(step.line, step.op.value, step.text, with_all_lookups(step.spoken.actions()))
    return decode(step)


def free(text: str, reason: str, *, whole: bool = False) -> LoweredInstruction:
    """A step that the rules leave as its author wrote it; with `whole` the steps below it are part of it."""
    return LoweredInstruction(OpCode.EXE, text, known=False, reason=reason, whole=whole)


def waiting_call(call: str) -> LoweredInstruction:
    """A call whose result is waited for."""
    return LoweredInstruction(OpCode.QUE, f"{call}; YLD for call")


def waits_for(found: LoweredInstruction, target: str) -> bool:
    """Whether an instruction only waits for an answer of the last addressee."""
    spoken, whom = found.spoken, source_of(target)
    sources = [one.source for one in spoken.waits] if spoken and not spoken.targets else []
    return len(sources) == 1 and f"{sources[0]} ".startswith(f"{whom} ")


def source_of(target: str) -> str:
    """The source of a wait for somebody who is spoken to."""
    return target if target in ("user", "meeting") else f"agent {target}"


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
