"""A model that reads what it is asked and answers by it: rules from a question to its answer.

A prompt that shares several questions is answered with their numbers. What is asked under a condition is left out where
an answer of the same reply says that the condition does not hold. Only this module knows how questions are worded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.language.instructions.expression import read_expression

_FROM_PROGRAM = "(From the program, not from a person.)\n"
_NUMBERED = re.compile(r"^\[(\d+)\] ", re.MULTILINE)
_TASK = (
    r"(?:Write |Do this:|The result,|Is this so|Decide by|What does the person|The person was asked|Answer the person"
    r"|Ask the person|Go on with|Come back|Confirm |The person corrects|Think about|Values for|Which of these|Give )"
)
_BEGINNING = re.compile(rf"^{_TASK}", re.MULTILINE)
_CONDITION = re.compile(rf"Only if (?P<when>.+?): (?={_TASK})", re.DOTALL)
_KINDS = {
    "understand": re.compile(r".*(?:What does the person do|What did they answer)", re.DOTALL),
    "choose": re.compile(
        r".*(?:One of \"yes\", \"no\"|Answer with one of these alone|Write nothing for this)", re.DOTALL
    ),
    "say": re.compile(r"(?:Write |Answer the|Ask the|Go on with|Come back|Confirm |The person corrects|Think about)"),
}
_TEST = re.compile(r"(?:Is this so, as things are now: (.+)\?|is it true that \"(.+)\"\?) ", re.DOTALL)
_NAMED = re.compile(r"\$([A-Za-z]\w*)(?::[a-z]+\b)?")
_ALONE = re.compile(r"Answer with (\w+) alone: ")
_OUTCOME = re.compile(r"\[(\d+)\] is (.+)")


@dataclass(frozen=True)
class Question:
    """One question as the model reads it. `number` is 0 where it is asked alone, `when` its condition, "" for none."""

    number: int
    text: str
    when: str = ""

    @property
    def kind(self) -> str:
        """In which form it is answered.

        say: words; give: values as JSON; choose: one of several; understand: what a person meant; execute: statements.
        """
        if "\n\nYou execute " in self.text or self.text.startswith("You execute "):
            return "execute"
        return next((kind for kind, shape in _KINDS.items() if shape.match(self.text)), "give")


@dataclass(frozen=True)
class Prompt:
    """What a model is asked. `agent` has no spaces in its name; `heard` is what was said last, by whomever."""

    agent: str
    past: str
    heard: str
    asked: str
    questions: Sequence[Question]

    @classmethod
    def read(cls, messages: Sequence[Mapping[str, Any]]) -> Prompt:
        """The prompt of a request, in the form in which providers are given it."""
        texts = [_text(message) for message in messages]
        agent = re.search(r"You execute \w+ as (\w+)", texts[-1]) or re.match(r"You are ([\w ]+)\.", texts[0])
        asked = texts[-1].removeprefix(_FROM_PROGRAM)
        if asked == texts[-1]:
            asks: Sequence[Question] = [Question(0, asked)]
            heard = asked.partition("\n\nYou execute ")[0]
        else:
            asks = _questions(asked)
            heard = next(
                (_text(one) for one in reversed(messages[1:-1]) if one["role"] == "user"),
                "",
            )
        return cls(agent[1].replace(" ", "") if agent else "", "\n".join(texts[1:-1]), heard, asked, asks)

    def known(self, name: str) -> Any:
        """The value of a variable that the prompt shows; None where it shows none."""
        found = re.search(rf"\${name} = ", self.asked)
        if found is None:
            return None
        value, _ = json.JSONDecoder().raw_decode(self.asked[found.end() :])
        return value


Answer = str | Callable[[Prompt], str]
Rules = Mapping[str, Answer]
"""Answers by regular expressions over `kind: text of the question`; the first one that is found gives the answer.

`$order_id:str` is written `order id` there.
"""


class Answers:
    """Answers prompts by rules."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def reply(self, prompt: Prompt) -> str:
        """The reply to a prompt. Raises LookupError for a question that no rule knows."""
        answers: dict[int, str] = {}
        so = _So()
        for question in prompt.questions:
            if not so.holds(question.when):
                continue
            answers[question.number] = answer = self._answer(prompt, question)
            so.add(question, answer)
        forms = {question.number: _ALONE.search(question.text) for question in prompt.questions}
        told = {question.number for question in prompt.questions if _told(question, answers)}
        written = {n: _alone(answer, forms[n]) for n, answer in answers.items() if n not in told}
        return "\n".join(f"[{n}] {answer}" if n > 1 else answer for n, answer in written.items())

    def _answer(self, prompt: Prompt, question: Question) -> str:
        asked = f"{question.kind}: {_NAMED.sub(_spaced, question.text)}"
        for pattern, answer in self._rules.items():
            if re.search(pattern, asked, re.DOTALL):
                return answer if isinstance(answer, str) else answer(prompt)
        raise LookupError(asked)


def _told(question: Question, answers: Mapping[int, str]) -> bool:
    """Whether the form says that the next answer tells this one."""
    at_once = re.search(r"- (\w+): [^\n]*write \[\d+\] at once", question.text)
    does = str(json.loads(answers.get(question.number, "{}")).get("does")) if at_once else ""
    return "Write nothing for this" in question.text or bool(at_once and does == at_once[1])


def answer_with(**values: Any) -> str:
    """The answer to what a person means who was asked for these values, and gave them."""
    return json.dumps({"does": "answer", **values}, ensure_ascii=False)


def _spaced(variable: re.Match[str]) -> str:
    return variable[1].replace("_", " ")


def _alone(answer: str, form: re.Match[str] | None) -> str:
    """An answer in the form in which it is wanted: one value without the JSON around it."""
    if form is None:
        return answer
    value = json.loads(answer)[form[1]]
    return value if isinstance(value, str) else json.dumps(value)


def _text(message: Mapping[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _questions(asked: str) -> list[Question]:
    begins = list(_NUMBERED.finditer(asked))
    if not begins:
        alone = _BEGINNING.search(asked)
        return [_question(0, asked if alone is None else asked[alone.start() :])]
    ends = [one.start() for one in begins[1:]] + [len(asked)]
    return [_question(int(one[1]), asked[one.end() : end].rstrip()) for one, end in zip(begins, ends, strict=True)]


def _question(number: int, text: str) -> Question:
    condition = _CONDITION.match(text)
    return Question(number, text[condition.end() :], condition["when"]) if condition else Question(number, text)


@dataclass
class _So:
    """What the answers of a reply say that what follows may depend on."""

    outcomes: dict[str, str] = field(default_factory=dict)
    tested: dict[str, bool] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    def add(self, question: Question, answer: str) -> None:
        """Note an answer."""
        test = _TEST.search(question.text)
        if test:
            self.tested[test[1] or test[2]] = answer == "yes"
        if question.kind in ("understand", "give"):
            given = json.loads(answer)
            self.outcomes[str(question.number)] = given.pop("does", "")
            self.values |= given

    def holds(self, when: str) -> bool:
        """Whether a condition holds; what nothing is said about is taken to hold."""
        return all(self._holds(part) for part in when.split(", and ")) if when else True

    def _holds(self, part: str) -> bool:
        outcome = _OUTCOME.match(part)
        if outcome:
            return re.search(rf"\b{self.outcomes[outcome[1]]}\b", outcome[2]) is not None
        text = part.removeprefix("not: ")
        known = self.tested.get(text, self._computed(text))
        return known is None or known is (text == part)

    def _computed(self, text: str) -> bool | None:
        expression = read_expression(text)
        try:
            return None if expression is None else bool(expression.evaluate(self.values))
        except ValueError:  # it depends on what is not said here
            return None
