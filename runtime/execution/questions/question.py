"""The kinds of questions to a model, each with a purpose, a form and a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Key = tuple[str, str]
"""The identity of a question: its instruction's line, and the part of it that is asked."""


@dataclass(frozen=True, slots=True)
class WordsQuestion:
    """The words of a message, shown while they are written. `task` says what the message does, `begun` what people have
    read of it already, `unfinished` the word behind that of which they may have read a part, `authored` how the program
    says what it does."""

    key: Key
    task: str
    may_be_silent: bool = False
    when: str = ""
    begun: str = ""
    unfinished: str = ""
    authored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ValueQuestion:
    """Values as JSON: each name with its declared type. `optional`: "not given" is an answer."""

    key: Key
    task: str
    types: Mapping[str, str]
    optional: bool = False
    when: str = ""


@dataclass(frozen=True, slots=True)
class OutcomeChoice:
    """One of several named outcomes, each with what it means ("" where its name says it).

    `told_by` are outcomes by the questions that are asked with this one and answered under that outcome alone: where
    one of them is answered instead, this one is as well. `turned`: it asks for the opposite of a condition.
    """

    key: Key
    task: str
    options: Mapping[str, str]
    when: str = ""
    told_by: Mapping[Key, str] = field(default_factory=dict)
    turned: bool = False

    def holds(self, answer: str) -> bool:
        """Whether the condition holds by the answer, yes or no."""
        return (answer == "yes") is not self.turned


@dataclass(frozen=True, slots=True)
class UnderstandQuestion:
    """The meaning of a person's words that came while something was awaited.

    `outcomes` are what it may be, each with what it means; `types` are the values that an answer gives;
    `arguments` are those of the playbooks among the outcomes. `told_by`: see `OutcomeChoice`.
    """

    key: Key
    task: str
    outcomes: Mapping[str, str]
    types: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    correctable: Mapping[str, str] = field(default_factory=dict)
    longest_chars: int = 10_000
    """The length beyond which a text cannot come from the person."""
    when: str = ""
    told_by: Mapping[Key, str] = field(default_factory=dict)


Question = WordsQuestion | ValueQuestion | OutcomeChoice | UnderstandQuestion


@dataclass(frozen=True, slots=True)
class UnderstandAnswer:
    """The answer to `UnderstandQuestion`."""

    does: str
    values: Mapping[str, Any]

    def to_data(self) -> dict[str, Any]:
        """The answer in the tape's form."""
        return {"does": self.does, "values": dict(self.values)}


class WrongAnswer(ValueError):
    """An answer that does not fit its question; the text says what is wrong, for the model."""
