"""Lines that speak and wait, in their parts: the same whether read from PBAsm or made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from runtime.language.instructions.model import (
    Action,
    Ask,
    End,
    Operand,
    Prose,
    Return,
    Say,
    VariableTarget,
    Wait,
)
from runtime.language.instructions.operands import VARIABLE, condition_of, said_words
from runtime.language.vocabulary.phrase import phrase

IS_DONE = "this is done: "
"""The words before the aim of a talk, if nothing else says when it is done."""


class AnswerWait(Struct, frozen=True):
    """The wait for a `source`: until it gave the values `wants`, or a condition in words holds, or both."""

    source: str
    wants: tuple[VariableTarget, ...] = ()
    until: str = ""

    @classmethod
    def read(cls, source: str, done: str | None) -> AnswerWait:
        """The wait that ends when what is `done` says holds; None where nothing is said of it."""
        if gave := phrase("gave").begins(done or ""):
            wants = tuple(VariableTarget(name, kind) for name, kind in VARIABLE.findall(gave["names"]))
            return cls(source, wants, gave["until"] or "")
        return cls(source, (), done or "")

    @property
    def done(self) -> str:
        """When it ends, in words; "" where nothing is said of it."""
        names = " and ".join(f"${one.name}:{one.type}" if one.type else f"${one.name}" for one in self.wants)
        who = self.source.removeprefix("agent ")
        gave = f"{'the ' if who == self.source else ''}{who} gave {names}" if names else ""
        return " and ".join(filter(None, (gave, self.until)))

    @property
    def text(self) -> str:
        """It as PBAsm, behind `YLD`."""
        return f"for {self.source}; done when {self.done}" if self.done else f"for {self.source}"

    def over(self, said: str) -> tuple[tuple[VariableTarget, ...], Operand | None]:
        """The values that it is for, with the types in the words `said`, and any other end of the talk."""
        typed = {name: kind for name, kind in VARIABLE.findall(said) if kind}
        if self.wants:
            wants = tuple(VariableTarget(one.name, one.type or typed.get(one.name, "")) for one in self.wants)
            return wants, condition_of(self.until) if self.until else None
        if phrase("has answered").begins(self.until):
            lasts = phrase("talk of several messages").begins(said.strip()) is not None
            return (), Prose(f"{IS_DONE}{said.strip().rstrip('.')}") if lasts else None
        wants = tuple(VariableTarget(name, kind) for name, kind in typed.items())
        given = not self.until or (wants and phrase("has given").begins(self.until))
        return wants, None if given else condition_of(self.until)


class TalkLine(Struct, frozen=True):
    """Words for `targets`, the `waits` behind them, and "exit" or "return", where the line `ends` with that."""

    targets: tuple[str, ...] = ()
    said: str = ""
    waits: tuple[AnswerWait, ...] = ()
    ends: str = ""

    @property
    def text(self) -> str:
        """It as PBAsm, behind the code of the line: `QUE` for one with words, else `YLD`."""
        words = (self.said, *["the same"] * len(self.targets[1:]))
        told = [f"Say({target}, {said})" for target, said in zip(self.targets, words, strict=False)]
        yields = [*(wait.text for wait in self.waits), *([f"for {self.ends}"] if self.ends else ())]
        return "; YLD ".join(["; ".join(told), *yields] if told else yields)

    def actions(self) -> Iterator[Action]:
        """What it does."""
        sources = tuple(wait.source for wait in self.waits)
        wants, until = self._awaited().over(self.said)
        if self.targets:
            words = said_words(self.said, self.targets)
            prose = words.text if isinstance(words, Prose) and self.targets[0].startswith("meeting") else ""
            takes_part = phrase("takes part").inside(prose) is not None
            asks = Ask(self.targets, words, sources, wants, until, takes_part)
            yield asks if sources else Say(self.targets, words, takes_part)
        elif sources:
            yield Ask((), None, sources, wants, until) if wants or until else Wait(sources)
        if self.ends:
            yield End() if self.ends == "exit" else Return()

    def _awaited(self) -> AnswerWait:
        """The wait that says when all are over."""
        return next((wait for wait in self.waits if wait.done), AnswerWait(""))


def awaited(sources: Sequence[str], done: str | None) -> tuple[AnswerWait, ...]:
    """The waits for `sources`, which are over when what is `done` says holds."""
    return tuple(
        AnswerWait.read(source, done if at == 0 else None) for at, source in enumerate(map(source_of, sources))
    )


def source_of(text: str) -> str:
    """The source of a wait, in the words of `YLD for …`."""
    return phrase("article of a source").without(text.strip()).strip('"')
