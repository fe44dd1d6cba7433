"""The questions of instructions: the step's words for a model, and the form of its answer.

Small models answer *is there no such order* by whether there is one: they are asked for the positive of a condition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from runtime.core.plain_text import shortened
from runtime.core.prompt_forms import LineForm, foreign_line
from runtime.execution.prompt.situation import is_large, shown_value
from runtime.execution.questions import form
from runtime.language.instructions import model as steps
from runtime.language.instructions.direct_speech import direct_speech, is_instruction, without_bookkeeping
from runtime.language.instructions.expression import Expression
from runtime.language.instructions.operands import NOT_SO, VARIABLE
from runtime.language.vocabulary.phrase import phrase, words_of

_DENIED: Mapping[str, str] = {
    **{f"{verb}n't": verb for verb in ("is", "are", "was", "were", "has", "have", "had", "do", "does", "did")},
    **{f"{verb}n't": verb for verb in ("would", "could", "need")},
    "can't": "can",
    "cannot": "can",
    "won't": "will",
}
_BEFORE_NOT = frozenset(_DENIED.values())
_SOMEBODY: Mapping[str, str] = {"nobody": "somebody", "nothing": "something", "none": "some"}
_AFTER_NO = frozenset({"there is", "there are", "there was", "there were"})
_HAVE = frozenset({"has", "have", "had", "gave", "give", "gives", "needs", "need", "wants", "want", "found", "finds"})
_SOME: Mapping[str, str] = {"any": "some", "anything": "something", "anyone": "someone", "anybody": "somebody"}


class PositiveTest(Struct, frozen=True):
    """A condition as it is asked; where it is `turned`, *yes* means that the condition does not hold."""

    text: str
    turned: bool = False


def positive_test(text: str) -> PositiveTest:
    """The condition without its negation, if it surely has one alone; else as it is."""
    if text.startswith(NOT_SO):
        inner = positive_test(text.removeprefix(NOT_SO))
        return PositiveTest(inner.text, not inner.turned)
    if '"' in text or "(" in text:
        return PositiveTest(text)
    words = text.split()
    plain = [word.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").strip(",.:") for word in words]
    if not (words_of("denies more") | words_of("of a mind")).isdisjoint(plain):
        return PositiveTest(text)
    denials = [at for at, word in enumerate(plain) if word in ("no", "not") or word in _DENIED or word in _SOMEBODY]
    if len(denials) != 1:
        return PositiveTest(text)
    [at] = denials
    said = _affirmed(words, plain, at)
    return PositiveTest(" ".join(said), turned=True) if said else PositiveTest(text)


def _affirmed(words: list[str], plain: list[str], at: int) -> list[str]:
    """The words without the denial at this place; none where it may deny something else."""
    before, behind, word = words[:at], words[at + 1 :], plain[at]
    after = [_SOME.get(one.lower(), one) for one in behind]
    if word in _DENIED:
        return [*before, _DENIED[word], *after] if before else []
    if word == "not":
        return [*before, *after] if not before or plain[at - 1] in _BEFORE_NOT else []
    if word in _SOMEBODY:
        return [_SOMEBODY[word], *behind] if not before and behind and behind[0] != "of" else []
    if not behind:
        return []
    if plain[at + 1] == "one":
        return ["someone", *behind[1:]] if not before else []
    if " ".join(plain[max(0, at - 2) : at]) in _AFTER_NO:
        return [*before, *_one_of(behind, plain[at - 1])]
    return [*before, *_one_of(behind, "any")] if before and plain[at - 1] in _HAVE else []


def _one_of(behind: list[str], verb: str) -> list[str]:
    """What there is in place of none of it: "such an order" for "such order", "an order", "orders"."""
    if behind[0] == "such":
        return ["such", *_one_of(behind[1:], verb)] if behind[1:] and verb in ("is", "was") else behind
    if verb in ("are", "were"):
        return behind
    if verb == "any":
        return ["some", *behind]
    return ["an" if behind[0][0].lower() in "aeiou" else "a", *behind]


MAX_SHOWN_CHARS = 200
"""The longest value in a step's words."""

_BRIEF = "Only the message itself{length}, without quotation marks."
_BRIEF_SPEECH = "Write only what you say{length}, without quotation marks."
_SHORT = ", in a sentence or two"


MAX_QUOTED_CHARS = 500

YES_NO: Mapping[str, str] = {"yes": "", "no": ""}
NEITHER = "other"
"""The answer that is neither yes nor no. Small models use this word, but not `neither` or null."""

_ANSWER = "answer"

STANDARD: Mapping[str, str] = {
    "repeat": "they want to hear the last message again",
    "skip": "they do not want to answer this",
    "cancel": "they want to stop all of this",
    "human": "they want to speak with a human being",
    "other": "anything else: a question of their own, small talk, or something unclear",
}
"""The standard acts of a person in place of an answer."""


class Questioner:
    """Makes the questions of one playbook. `types` are the declared types of its agent's variables. `speaker` is the
    name of the agent for a small model: to other agents it speaks better than it writes a message, and a task has to be
    stressed. It is told once more what it `heard` last."""

    def __init__(
        self, types: Mapping[str, str], returns: str | None, speaker: str = "", heard: Callable[[], str] = lambda: ""
    ) -> None:
        self._types = types
        self._heard = heard
        self._speaker = speaker
        self._returns = returns or ""

    def words(self, line: str, part: steps.Say | steps.Ask, names: Mapping[str, Any]) -> form.WordsQuestion:
        assert isinstance(part.words, steps.Prose)
        to = _whom(part.targets)
        text = part.words.text
        if isinstance(part, steps.Ask):
            wanted = {want.name for want in part.wants}
            names = {name: value for name, value in names.items() if name not in wanted}
            text = without_bookkeeping(text, wanted)
        told = self.told(text, names)
        plain = (word.strip(".,:;!?\"'()").lower() for word in text.split())
        says_how_long = not words_of("says how long").isdisjoint(plain)
        length = "" if says_how_long else _SHORT
        this = "exactly this, all of it" if self._speaker else "this"
        example = _spoken(text, to, names) if self._speaker else ""
        such_as = self.such_as(f'For example: "{example}"') if example else ""
        task = f"{LineForm.WRITE} {to}. It must do {this}: {told}.{such_as} {_BRIEF.format(length=length)}"
        if self._speaker and to != "the person" and not example:
            task = f"{LineForm.SPEAK.format(whom=to)} {self._speaker}: {told}. {_BRIEF_SPEECH.format(length=length)}"
        filled = VARIABLE.sub(lambda found: _filled(found, names), text)
        bare = (part.words.text, text, told, filled) if is_instruction(part.words.text) else ()
        labelled = [f"{name}: {words}" for name in (to, self._speaker) for words in bare]
        authored = (*bare, *labelled)
        return form.WordsQuestion(
            (line, "words"), task, may_be_silent=part.takes_part, authored=authored, example=example
        )

    def such_as(self, example: str) -> str:
        """An example in the task for a message; "" for a large model, which would say nothing else."""
        return f" {example}" if self._speaker else ""

    def asked(self, part: steps.Ask, names: Mapping[str, Any]) -> str:
        """What a person was asked, in the author's words; "" where they are not the author's."""
        if not isinstance(part.words, steps.Prose):
            return ""
        wanted = {want.name for want in part.wants}
        known = {name: value for name, value in names.items() if name not in wanted}
        return self.told(without_bookkeeping(part.words.text, wanted), known)

    def value(self, line: str, part: steps.Set | steps.Return, names: Mapping[str, Any]) -> form.ValueQuestion:
        assert isinstance(part.value, steps.Prose)
        if isinstance(part, steps.Return):
            return form.ValueQuestion(
                (line, "value"), f"The result, {self.told(part.value.text, names)}.", {"result": self._returns}
            )
        wanted = {variable.name: self.type_of(variable) for variable in part.variables}
        listed = " and ".join(f"${name}" for name in wanted)
        return form.ValueQuestion(
            (line, "value"), f"Do this: {self.told(part.value.text, names)}. Give {listed}.", wanted
        )

    def given(self, awaited: Awaited) -> form.ValueQuestion:
        wanted = " and ".join(awaited.types)
        task = f"{LineForm.ASKED} {awaited.asked} They wrote: {awaited.quoted} From this give {wanted}."
        return form.ValueQuestion(awaited.key("given"), task, awaited.types, optional=True)

    def agreed(self, awaited: Awaited) -> form.OutcomeChoice:
        """The question whether a person said yes or no. Small models read "No thanks" as `true`, but not as a yes."""
        task = f"{LineForm.ASKED} {awaited.asked} They wrote: {awaited.quoted} Is that a yes or a no?"
        return form.OutcomeChoice(awaited.key("agreed"), task, {**YES_NO, NEITHER: ""})

    def gathered(self, key: form.Key, written: str, wanted: Mapping[str, str]) -> form.ValueQuestion:
        """The question for the named values in a message. `written` is the message in quotation marks."""
        task = f"They wrote: {written} From this give {' and '.join(wanted)}."
        return form.ValueQuestion(key, task, wanted, optional=True)

    def arguments(
        self, line: str, call: str, wanted: Mapping[str, tuple[str, str]], names: Mapping[str, Any]
    ) -> form.ValueQuestion:
        """Arguments in words: each parameter with its words and type."""
        said = "; ".join(f"{name}: {self.told(words, names)}" for name, (words, _) in wanted.items())
        return form.ValueQuestion(
            (line, "arguments"),
            f"{LineForm.ARGUMENTS_FOR.format(name=call)} {said}.",
            {name: kind for name, (_, kind) in wanted.items()},
        )

    def thought(self, line: str, part: steps.Think, names: Mapping[str, Any]) -> form.WordsQuestion:
        """A thought that people do not see."""
        about = self.told(part.about.text, names)
        return form.WordsQuestion(
            (line, "thought"), f"{LineForm.THINK} in at most three sentences that nobody else sees: {about}."
        )

    def test(
        self, line: str, part: steps.Condition | steps.Loop | steps.Jump, names: Mapping[str, Any]
    ) -> form.OutcomeChoice:
        test = part.over if isinstance(part, steps.Loop) else part.test
        assert isinstance(test, steps.Prose)
        asked = positive_test(test.text) if self._speaker else PositiveTest(test.text)
        key = (line, "opposite" if asked.turned else "test")
        last = f", {quoted(self._heard()).rstrip('.')}" if self._speaker and self._heard() else ""
        known = f"{LineForm.DECIDE} and what was said last{last}"
        task = f'{known}: is it true that "{self.told(asked.text, names)}"?'
        return form.OutcomeChoice(key, task, YES_NO, turned=asked.turned)

    def told(self, text: str, names: Mapping[str, Any]) -> str:
        """The author's words, with the values of their variables."""

        def with_value(found: re.Match[str]) -> str:
            name = found[1]
            if name not in names:
                return name.replace("_", " ")
            value = names[name]
            if value is None:
                return f"${name} (not given)"
            shown = "(see below)" if is_large(value) else shown_value(value, MAX_SHOWN_CHARS)
            return f"${name} (now {shown})"

        return VARIABLE.sub(with_value, text).rstrip(" .")

    def type_of(self, variable: steps.VariableTarget) -> str:
        return variable.type or self._types.get(variable.name, "")


def _spoken(text: str, to: str, names: Mapping[str, Any]) -> str:
    """What a step says to these, as its agent may say it; "" where its sentence does not tell that."""
    named = None if to == "the person" else phrase("agents addressed").begins(text)
    if named is None:
        return direct_speech(text, names) or ""
    said, whom = direct_speech(f"{named['does']} them {named.rest}", names) or "", named["whom"]
    if said and to == "all in the meeting" and whom != "meeting":
        return f"{whom}, {said if said.startswith('I ') else said[0].lower() + said[1:]}"
    return said


def _filled(found: re.Match[str], names: Mapping[str, Any]) -> str:
    value = names.get(found[1])
    return found[0] if value is None or is_large(value) else shown_value(value, MAX_SHOWN_CHARS).strip('"')


def _whom(targets: Sequence[str]) -> str:
    names = [
        "the person" if one.lower() in ("user", "human") else "all in the meeting" if one == "meeting" else one
        for one in targets
    ]
    return " and ".join(names)


class Awaited(Struct, frozen=True):
    """A question of an instruction to somebody and their answer, for the `attempt`-th time.

    `said` are the words of the question, `asked` tells it to a model. `types` are the values that are wanted, `until`
    says when the talk is done. `triggers` are texts, and parameters with their types, by the names of the playbooks
    that they start. `correctable` are values given before; `unread`: nothing has used them yet, so a correction needs
    no more than a reply. `aside` is the task for an answer that is something else.
    """

    line: str
    part: steps.Ask
    said: str
    asked: str
    heard: str
    attempt: int
    types: Mapping[str, str]
    until: str
    triggers: Mapping[str, tuple[str, Mapping[str, str]]]
    correctable: Mapping[str, str]
    aside: str
    unread: bool

    def key(self, what: str) -> form.Key:
        return self.line, f"{what}{self.attempt}"

    @property
    def quoted(self) -> str:
        return quoted(self.heard)


def understanding(awaited: Awaited) -> form.UnderstandQuestion:
    until, triggers = awaited.until, {name: text for name, (text, _) in awaited.triggers.items()}
    answer = f"what they wrote is an answer, and now {until}" if until else "what they wrote answers what was asked"
    outcomes = {_ANSWER: answer, **triggers}
    if awaited.correctable:
        outcomes["correct"] = f"they correct what they said before ({', '.join(awaited.correctable)})"
    outcomes |= {name: meaning for name, meaning in STANDARD.items() if name not in outcomes}
    if until:
        outcomes["other"] = "anything else: it is not done yet, or they have a question of their own"
    if any(phrase("calls for a person").inside(text) for text in triggers.values()):
        del outcomes["human"]
    return form.UnderstandQuestion(
        awaited.key("understand"),
        f"{LineForm.ASKED} {awaited.asked} They wrote: {awaited.quoted} What did they answer?",
        outcomes,
        awaited.types,
        {name: params for name, (_, params) in awaited.triggers.items() if params},
        awaited.correctable,
        2 * len(awaited.heard) + 40,
    )


def quoted(text: str) -> str:
    return f'"{shortened(foreign_line(text), MAX_QUOTED_CHARS)}".'


def expression_text(test: object) -> str:
    return test.text if isinstance(test, steps.Prose) else test.source if isinstance(test, Expression) else ""
